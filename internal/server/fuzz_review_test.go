package server

import (
	"testing"
)

// reviewPaths are the paths of the served reviews.
var reviewPaths = []string{
	"/apis/authorization.k8s.io/v1/subjectaccessreviews", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
	"/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
	"/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
	"/apis/authentication.k8s.io/v1/tokenreviews", "/apis/authentication.k8s.io/v1/selfsubjectreviews",
}

// FuzzReviewBody sends reviews, some of them as an impersonated user.
func FuzzReviewBody(f *testing.F) {
	h := newHostile(f)
	for n := range reviewPaths {
		addBodies(f, func(kind byte, body []byte) { f.Add(byte(n), bodyTypes[kind].mediaType, body, "", "") },
			`{"spec":{"user":"u","groups":["g"],"extra":{"k":["v"]},"resourceAttributes":{"namespace":"default","verb":"get",`+
				`"group":"fuzz.example.com","resource":"things"}}}`,
			`{"spec":{"nonResourceAttributes":{"path":"/x","verb":"get"},"namespace":"default","token":"a.b.c"}}`)
		f.Add(byte(n), "application/json",
			[]byte(`{"spec":{"resourceAttributes":{"labelSelector":{"rawSelector":"a in (b","requirements":[{"key":"a",`+
				`"operator":"In","values":[]}]}}}}`),
			"", "")
		f.Add(byte(n), "application/json", []byte(`{}`), "system:serviceaccount:a:b", "g%2")
	}
	f.Fuzz(func(t *testing.T, n byte, mediaType string, body []byte, user, group string) {
		header := map[string]string{"Content-Type": mediaType, "Accept": mediaType}
		if user != "" {
			header["Impersonate-User"], header["Impersonate-Group"], header["Impersonate-Extra-"+group] = user, group, user
		}
		h.send(t, call{method: "POST", path: reviewPaths[int(n)%len(reviewPaths)], query: "fieldValidation=Strict",
			body: body, header: header})
	})
}
