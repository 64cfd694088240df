package e2e

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
)

// TestLogOfOddClients checks that nothing that clients do is an error in the log, at the default verbosity: webhooks
// that reject, fail or time out, requests that are wrong, and clients that leave. A webhook that fails is a warning.
func TestLogOfOddClients(t *testing.T) {
	t.Parallel()
	server := run(t, "--builtin-resources", "all")
	o := newOdd(newAttacker(t, server))
	o.webhooks()
	o.wrong()
	o.leaving()
	o.malformed()
	o.policies()
	o.shapes()
	o.stuck()
	// The controller of accounts has tried all namespaces above before this one.
	o.do(http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"last"}}`, "")
	o.until("the last namespace has its account", func() bool {
		return o.do(http.MethodGet, "/api/v1/namespaces/last/serviceaccounts/default", "", "") == http.StatusOK
	})
	warned := map[string]bool{}
	for line := range strings.Lines(server.Output()) {
		name, _, isWarning := strings.Cut(afterMarker(line, "Failed calling webhook, "), ": ")
		switch {
		case strings.HasPrefix(line, "I"), strings.Contains(line, "KUBECONFIG="):
		case isWarning && strings.HasPrefix(line, "W") && !warned[name]:
			warned[name] = true
		case strings.HasPrefix(line, "W") && strings.Contains(line, "conversion webhook for "):
		case strings.HasPrefix(line, "W") && strings.Contains(line, "failed to find resource referenced by paramKind"):
		default:
			t.Errorf("the log has %s", line)
		}
	}
	for _, want := range []string{"failing open open-broken.example.com", "failing closed fail-broken.example.com"} {
		if !warned[want] {
			t.Errorf("there is no warning: %s", want)
		}
	}
}

func afterMarker(line, marker string) string {
	_, after, _ := strings.Cut(line, marker)
	return after
}

// odd is a client that does odd things.
type odd struct {
	attacker
	client *http.Client
	hooks  *httptest.Server
}

func newOdd(a attacker) *odd {
	o := &odd{attacker: a, client: &http.Client{Transport: &http.Transport{TLSClientConfig: a.admin}}}
	o.Cleanup(o.client.CloseIdleConnections)
	o.hooks = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var review struct {
			Request struct{ UID string }
		}
		_ = json.NewDecoder(req.Body).Decode(&review) // a conversion has no such field
		switch req.URL.Path {
		case "/reject":
			fmt.Fprintf(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":false}}`,
				review.Request.UID)
		case "/slow":
			<-req.Context().Done()
		default:
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	o.Cleanup(o.hooks.Close)
	return o
}

// do sends a request and returns the status code. The default content type is JSON.
func (o *odd) do(method, path, body, contentType string) int {
	o.Helper()
	req, err := http.NewRequestWithContext(o.Context(), method, o.server.URL+path, strings.NewReader(body))
	if err != nil {
		o.Fatal(err)
	}
	if contentType == "" {
		contentType = "application/json"
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := o.client.Do(req)
	if err != nil {
		o.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // only the code matters
	return resp.StatusCode
}

// must is do for requests that succeed.
func (o *odd) must(method, path, body string) {
	o.Helper()
	if code := o.do(method, path, body, ""); code >= 300 {
		o.Fatalf("%s %s: %d", method, path, code)
	}
}

func (o *odd) until(what string, holds func() bool) {
	o.Helper()
	for deadline := time.Now().Add(patience); !holds(); {
		if time.Now().After(deadline) {
			o.Fatalf("timeout: %s", what)
		}
	}
}

// config returns a clientConfig of a webhook.
func (o *odd) config(address string) string {
	block, err := cert.EncodeCertificates(o.hooks.Certificate())
	if err != nil {
		o.Fatal(err)
	}
	return fmt.Sprintf(`{"url":%q,"caBundle":%q}`, address, base64.StdEncoding.EncodeToString(block))
}

// webhooks creates objects that webhooks reject, or for which they cannot be called. Each is for ConfigMaps of one
// namespace, in which the ConfigMap of the root certificates is rejected too.
func (o *odd) webhooks() {
	for kind, paths := range map[string][]string{
		"validating": {"reject", "broken", "slow"}, "mutating": {"reject", "broken"},
	} {
		for _, path := range paths {
			for policy, name := range map[string]string{"Fail": "fail-" + path, "Ignore": "open-" + path} {
				o.hook(kind, name, policy, o.hooks.URL+"/"+path)
				o.do(http.MethodPost, "/api/v1/namespaces/"+kind+"-"+name+"/configmaps", `{"metadata":{"name":"a"}}`, "")
			}
		}
	}
	o.hook("validating", "fail-away", "Fail", "https://127.0.0.1:1/")
	o.do(http.MethodPost, "/api/v1/namespaces/validating-fail-away/configmaps", `{"metadata":{"name":"a"}}`, "")
	o.conversion()
}

// hook creates a webhook and its namespace, and waits until it is called.
func (o *odd) hook(kind, name, policy, address string) {
	o.Helper()
	configuration := fmt.Sprintf(`{"metadata":{"name":"%[1]s"},"webhooks":[{
		"name":"%[2]s.example.com","clientConfig":%[3]s,
		"rules":[{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}],
		"namespaceSelector":{"matchLabels":{"hook":"%[1]s"}},"sideEffects":"None","admissionReviewVersions":["v1"],
		"failurePolicy":%[4]q,"timeoutSeconds":1}]}`, kind+"-"+name, name, o.config(address), policy)
	o.must(http.MethodPost, "/apis/admissionregistration.k8s.io/v1/"+kind+"webhookconfigurations", configuration)
	o.must(http.MethodPost, "/api/v1/namespaces",
		fmt.Sprintf(`{"metadata":{"name":"%[1]s","labels":{"hook":"%[1]s"}}}`, kind+"-"+name))
}

// conversion uses custom resources whose conversion fails.
func (o *odd) conversion() {
	const version = `{"name":%q,"served":true,"storage":%v,"schema":{"openAPIV3Schema":{"type":"object"}}}`
	o.must(http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", fmt.Sprintf(
		`{"metadata":{"name":"odds.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
		"names":{"plural":"odds","kind":"Odd"},"versions":[%s,%s],"conversion":{"strategy":"Webhook",
		"webhook":{"conversionReviewVersions":["v1"],"clientConfig":%s}}}}`,
		fmt.Sprintf(version, "v1", true), fmt.Sprintf(version, "v2", false), o.config(o.hooks.URL+"/broken")))
	const path = "/apis/example.com/%s/namespaces/default/odds"
	o.must(http.MethodPost, fmt.Sprintf(path, "v1"),
		`{"apiVersion":"example.com/v1","kind":"Odd","metadata":{"name":"a"}}`)
	for range 2 {
		o.do(http.MethodGet, fmt.Sprintf(path, "v2"), "", "")
		o.do(http.MethodGet, fmt.Sprintf(path, "v2")+"/a", "", "")
		o.do(http.MethodPatch, fmt.Sprintf(path, "v2")+"/a", `{"spec":1}`, "application/merge-patch+json")
	}
}

// wrong sends requests that are refused.
func (o *odd) wrong() {
	const maps = "/api/v1/namespaces/default/configmaps"
	o.must(http.MethodPost, maps, `{"metadata":{"name":"a"},"data":{"a":"`+strings.Repeat("x", 900<<10)+`"}}`)
	for _, path := range []string{maps, "/apis/authorization.k8s.io/v1/subjectaccessreviews",
		"/api/v1/namespaces/default/serviceaccounts/default/token"} {
		for contentType, body := range map[string]string{
			"":                                    "{",
			"text/plain":                          "a",
			"application/yaml":                    "a: [",
			"application/cbor":                    "\xd9\xd9\xf7\xff",
			"application/vnd.kubernetes.protobuf": "k8s\x00\xff\xff",
			"application/json":                    `{"a":"` + strings.Repeat("x", 4<<20) + `"}`,
		} {
			o.do(http.MethodPost, path, body, contentType)
		}
	}
	o.do(http.MethodPatch, maps+"/a", `{"data":{"$patch":"nothing"}}`, "application/strategic-merge-patch+json")
	o.do(http.MethodPatch, maps+"/a", `[{"op":"nothing"}]`, "application/json-patch+json")
	for _, query := range []string{"limit=x", "labelSelector=" + url.QueryEscape("a==="), "fieldSelector=%25",
		"continue=x", "resourceVersion=x", "timeout=x", "timeout=1ns", "watch=true&resourceVersion=999999&timeoutSeconds=1"} {
		o.do(http.MethodGet, maps+"?"+query, "", "")
	}
	token := o.admin.Clone()
	token.Certificates, token.GetClientCertificate = nil, nil
	for _, config := range []*tls.Config{token, o.withCertificate()} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: config}}
		o.Cleanup(client.CloseIdleConnections)
		req, err := http.NewRequestWithContext(o.Context(), http.MethodGet, o.server.URL+maps, nil)
		if err != nil {
			o.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer guess")
		resp, err := client.Do(req)
		if err != nil {
			o.Fatal(err)
		}
		_ = resp.Body.Close()
	}
}

func (o *odd) withCertificate() *tls.Config {
	config := o.stranger()
	config.Certificates = []tls.Certificate{selfSigned(o.T, "nobody", "none")}
	return config
}

// leaving begins requests and leaves: in the middle of the body, of the answer, and while a webhook is called.
func (o *odd) leaving() {
	const maps = "/api/v1/namespaces/default/configmaps"
	for _, path := range []string{maps, "/apis/example.com/v1/namespaces/default/odds",
		"/apis/authorization.k8s.io/v1/subjectaccessreviews"} {
		o.leave("POST "+path, "Content-Type: application/json\r\nContent-Length: 1000\r\n", `{"metadata":`, false)
		o.leave("POST "+path, "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n", "zz\r\n", false)
	}
	for _, path := range []string{maps, maps + "?watch=true", "/openapi/v2", "/metrics", "/apis"} {
		for _, accept := range []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf",
			"application/json;as=Table;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"} {
			o.leave("GET "+path, "Accept: "+accept+"\r\n", "", true)
		}
	}
	for _, name := range []string{"fail-slow", "open-slow"} {
		o.leave("POST /api/v1/namespaces/validating-"+name+"/configmaps",
			"Content-Type: application/json\r\nContent-Length: 25\r\n", `{"metadata":{"name":"b"}}`, false)
	}
}

// leave sends a part of a request and closes the connection, after the answer has begun if the client waits for that.
func (o *odd) leave(line, header, body string, waits bool) {
	o.Helper()
	config := o.admin.Clone()
	config.NextProtos = []string{"http/1.1"}
	connection, err := tls.Dial("tcp", o.address(), config)
	if err != nil {
		o.Fatal(err)
	}
	defer connection.Close()
	if _, err := fmt.Fprintf(connection, "%s HTTP/1.1\r\nHost: a\r\n%s\r\n%s", line, header, body); err != nil {
		o.Fatal(err)
	}
	if waits {
		_, _ = bufio.NewReader(connection).ReadByte() // some are refused
	}
}

// malformed sends what is no request.
func (o *odd) malformed() {
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	for _, text := range []string{
		"NOTHING\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nA: " + strings.Repeat("a", 2<<20) + "\r\n\r\n",
		"PRI * NOTHING\r\n\r\n",
		preface + strings.Repeat("\xff", 200), preface + "\x00\x00\x06\x01\x05\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff",
	} {
		config := o.stranger()
		if strings.HasPrefix(text, "PRI") {
			config.NextProtos = []string{"h2"}
		}
		connection, err := tls.Dial("tcp", o.address(), config)
		if err != nil {
			o.Fatal(err)
		}
		_, _ = io.WriteString(connection, text) // the server need not read it all
		_ = connection.Close()
	}
	if err := o.handshake(&tls.Config{RootCAs: o.admin.RootCAs, ServerName: "localhost", MaxVersion: tls.VersionTLS10,
		MinVersion: tls.VersionTLS10}); err == nil {
		o.Error("TLS 1.0 is accepted")
	}
}

// stuck leaves work that controllers cannot finish: what a webhook refuses them, a pod that nobody ends, a finalizer,
// owners that are absent or elsewhere.
func (o *odd) stuck() {
	const maps = "/api/v1/namespaces/%s/configmaps"
	o.must(http.MethodPost, fmt.Sprintf(maps, "default"), `{"metadata":{"name":"stuck","finalizers":["example.com/a"]}}`)
	for n, owner := range []string{
		`"apiVersion":"v1","kind":"Secret","uid":"1"`, `"apiVersion":"none.example.com/v1","kind":"None","uid":"2"`,
	} {
		o.must(http.MethodPost, fmt.Sprintf(maps, "default"),
			fmt.Sprintf(`{"metadata":{"name":"owned-%d","ownerReferences":[{"name":"a",%s}]}}`, n, owner))
	}
	o.must(http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"pods"}}`)
	o.until("there is an account for pods", func() bool {
		return o.do(http.MethodGet, "/api/v1/namespaces/pods/serviceaccounts/default", "", "") == http.StatusOK
	})
	o.must(http.MethodPost, "/api/v1/namespaces/pods/pods",
		`{"metadata":{"name":"a"},"spec":{"nodeName":"a","containers":[{"name":"a","image":"a"}]}}`)
	o.must(http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"finalized"}}`)
	o.must(http.MethodPost, fmt.Sprintf(maps, "finalized"), `{"metadata":{"name":"a","finalizers":["example.com/a"]}}`)
	for _, name := range []string{"pods", "finalized", "validating-fail-reject", "validating-fail-broken"} {
		o.must(http.MethodDelete, "/api/v1/namespaces/"+name, "")
	}
	o.must(http.MethodDelete, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/odds.example.com", "")
}
