package server

import (
	"net/http"
	"strings"
	"testing"
)

// TestConnect sends requests that kube-apiserver passes on to kubelets and pods.
func TestConnect(t *testing.T) {
	t.Parallel()
	s := startWhole(t, everything)
	p := s.root()
	for path, body := range map[string]string{
		podsPath: `{"metadata":{"name":"one"},"spec":{"containers":[` +
			`{"name":"c","image":"i"},{"name":"d","image":"i"}]}}`,
		"/api/v1/namespaces/default/services": `{"metadata":{"name":"web"},"spec":{"ports":[{"port":80}]}}`,
		"/api/v1/nodes": `{"metadata":{"name":"n"},` +
			`"status":{"addresses":[{"type":"Hostname","address":"n"}]}}`,
	} {
		p.must(http.StatusCreated, http.MethodPost, path, body)
	}
	bound := podsPath + "/bound"
	p.must(http.StatusCreated, http.MethodPost, podsPath,
		`{"metadata":{"name":"bound"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}}`)
	const services = "/api/v1/namespaces/default/services/"
	for _, request := range []struct {
		method, path string
		code         int
		message      string
	}{
		{"GET", podsPath + "/one/exec?container=c", 400, "pod one does not have a host assigned"},
		{"POST", podsPath + "/one/attach?container=d", 400, "pod one does not have a host assigned"},
		{"GET", podsPath + "/one/portforward", 400, "pod one does not have a host assigned"},
		{"GET", podsPath + "/one/portforward?ports=x", 400, "cannot convert to []int32"},
		{"GET", podsPath + "/one/exec", 400, "a container name must be specified for pod one, choose one of: [c d]"},
		{"GET", podsPath + "/one/exec?container=e", 400, "container e is not valid for pod one"},
		{"GET", podsPath + "/one/exec?dryRun=All", 400, "dryRun is not supported"},
		{"GET", podsPath + "/none/exec", 404, `pods \"none\" not found`},
		{"PUT", podsPath + "/one/exec", 405, ""},
		{"GET", podsPath + "/one/exec/more", 404, ""},
		{"GET", bound + "/exec", 400, "Upgrade request required"},
		{"GET", bound + "/proxy/path", 400, "address not allowed"},
		{"PATCH", "/api/v1/nodes/n/proxy/", 503, "error trying to reach service"},
		{"OPTIONS", "/api/v1/nodes/n:80/proxy", 503, "error trying to reach service"},
		{"TRACE", "/api/v1/nodes/n:80/proxy", 405, ""},
		{"HEAD", "/api/v1/nodes/n/proxy/", 503, ""},
		{"DELETE", "/api/v1/nodes/none/proxy", 404, `nodes \"none\" not found`},
		{"PUT", services + "web:80/proxy", 503, `no endpoints available for service \"web\"`},
		{"GET", services + "web:81/proxy", 503, `no service port 81 found for service \"web\"`},
		{"GET", services + "a:b:c:d/proxy", 400, `invalid service request`},
	} {
		got := p.send(request.method, request.path, "")
		if got.code != request.code || !strings.Contains(got.body, request.message) {
			t.Errorf("%s %s: %d %s", request.method, request.path, got.code, got.body)
		}
	}
}

// TestConnectAsks checks that a stream needs the verb create, also for GET, and that admission sees the options.
func TestConnectAsks(t *testing.T) {
	t.Parallel()
	s := startWhole(t, everything)
	p, reader := s.root(), s.person("reader")
	p.must(http.StatusCreated, http.MethodPost, podsPath, `{"metadata":{"name":"one"},"spec":`+podSpec+`}`)
	const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
	p.must(http.StatusCreated, http.MethodPost, roles,
		`{"metadata":{"name":"r"},"rules":[{"apiGroups":[""],"resources":["pods/exec","pods/proxy"],"verbs":["get"]}]}`)
	p.must(http.StatusCreated, http.MethodPost, roles[:len(roles)-1]+"bindings",
		`{"metadata":{"name":"r"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"r"},`+
			`"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"reader"}]}`)
	for path, code := range map[string]int{"/one/exec": 403, "/one/proxy": 400, "/one/attach": 403} {
		reader.becomes(code, podsPath+path, "")
	}
	const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
	p.must(http.StatusCreated, http.MethodPost, policies, `{"metadata":{"name":"shell"},"spec":{"matchConstraints":{`+
		`"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CONNECT"],"resources":["pods/exec"]}]},`+
		`"validations":[{"expression":"!('sh' in object.command)","message":"no shells"}]}}`)
	p.must(http.StatusCreated, http.MethodPost, policies[:len(policies)-len("ies")]+"ybindings",
		`{"metadata":{"name":"shell"},"spec":{"policyName":"shell","validationActions":["Deny"]}}`)
	if got := p.becomes(422, podsPath+"/one/exec?command=sh", ""); !strings.Contains(got.body, "no shells") {
		t.Error(got.body)
	}
	p.must(http.StatusBadRequest, http.MethodGet, podsPath+"/one/exec?command=ls", "")
}
