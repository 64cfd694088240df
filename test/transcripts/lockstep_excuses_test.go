package transcripts

import "strings"

// excuse is an intended difference, or a bug of upstream's that crd-server does not repeat.
type excuse struct {
	// upstream and ours match the responses.
	upstream, ours string
	reason         string
}

// excuses are the intended differences that random steps find; docs/conformance.md has more.
var excuses = []excuse{
	{`in scheme \"pkg/runtime/scheme.go:111\"`, `"reason": "BadRequest"`,
		"upstream's words on a Scale speak of an internal scheme"},
	{"INTERNAL_ERROR; received from peer", "", "upstream panics and breaks the stream"},
	{"CreateOptions.meta.k8s.io", "415 application/json",
		"that nothing can be read from protobuf is told before what is wrong with the options"},
	{"object has no apiVersion field", "",
		"upstream takes a patch that removes apiVersion for a failure of its own, with 500"},
	{"415: Unsupported Media Type", "415 application/", "the words of 415 are those of custom resources"},
	{"406: Not Acceptable", "406 application/", "the words of 406 are those of custom resources"},
	{"): unknown conversion", "unknown conversion", "kube-apiserver names an internal type"},
	{"): unknown conversion", "no kind ", "kube-apiserver knows more kinds, and names an internal type"},
	{"no unsafe deleter provided", "", "kube-apiserver cannot remove a namespace, or a kind like it, that cannot be read"},
	{"is registered for the internal version", "is registered for version", "kube-apiserver names an internal version"},
	{"(*core.", "the requested object is ", "kube-apiserver names an internal type"},
	{"(*coordination.", "the requested object is ", "kube-apiserver names an internal type"},
}

// excusable returns whether a difference is intended.
func excusable(want, got string) bool {
	for _, e := range excuses {
		if strings.Contains(want, e.upstream) && strings.Contains(got, e.ours) {
			return true
		}
	}
	return false
}
