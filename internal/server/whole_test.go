package server

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// startWhole starts a server with all its parts and these flags, and waits until it is ready.
func startWhole(t *testing.T, args ...string) *testServer {
	t.Helper()
	return launchWhole(t, func(o *Options) {
		if err := o.Parse(append([]string{"--data-dir", o.DataDir, "--secure-port", "0"}, args...)); err != nil {
			t.Fatal(err)
		}
	})
}

// person sends requests as one user.
type person struct {
	t      *testing.T
	client *http.Client
	url    string
	// headers are names and values in turn. They are sent with every request.
	headers []string
}

// person returns a user with a client certificate, or without a credential if the name is empty.
func (s *testServer) person(name string, groups ...string) *person {
	s.t.Helper()
	client, url := s.as(name, groups...)
	return &person{t: s.t, client: client, url: url}
}

// root returns a user of system:masters.
func (s *testServer) root() *person { return s.person("root", "system:masters") }

// with returns the same user with more headers.
func (p *person) with(headers ...string) *person {
	return &person{t: p.t, client: p.client, url: p.url, headers: append(headers, p.headers...)}
}

// send sends a request and reads the response. The content type is JSON unless a header sets another one.
func (p *person) send(method, path, body string, headers ...string) answer {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	headers = append(headers, p.headers...)
	for n := 0; n < len(headers); n += 2 {
		if strings.HasPrefix(headers[n], "X-") {
			req.Header.Add(headers[n], headers[n+1])
		} else {
			req.Header.Set(headers[n], headers[n+1])
		}
	}
	response, err := p.client.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(read)}
}

// must is send. It fails the test unless the response has the code.
func (p *person) must(code int, method, path, body string, headers ...string) answer {
	p.t.Helper()
	got := p.send(method, path, body, headers...)
	if got.code != code {
		p.t.Fatalf("%s %s: %d, want %d: %.600s", method, path, got.code, code, got.body)
	}
	return got
}

// versionOf returns the resourceVersion of an object.
func (p *person) versionOf(path string) string {
	p.t.Helper()
	var object struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal([]byte(p.must(http.StatusOK, http.MethodGet, path, "").body), &object); err != nil {
		p.t.Fatal(err)
	}
	return object.Metadata.ResourceVersion
}

const (
	tablesPath = "/apis/shop.example.com/v1/namespaces/default/tables"
	tablesCRD  = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",` +
		`"metadata":{"name":"tables.shop.example.com"},"spec":{"group":"shop.example.com","scope":"Namespaced",` +
		`"names":{"plural":"tables","singular":"table","kind":"Table"},"versions":[` +
		tablesV1 + `,` + tablesV2 + `]}}`
	tablesV1    = `{"name":"v1","served":true,"storage":true,` + tableSchema + `}`
	tablesV2    = `{"name":"v2","served":true,"storage":false,` + tableSchema + `}`
	tableSchema = `"subresources":{"status":{},"scale":{"specReplicasPath":".spec.legs",` +
		`"statusReplicasPath":".status.legs"}},` +
		`"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{` +
		`"legs":{"type":"integer","minimum":1},"color":{"type":"string","default":"white"},"seen":{"type":"array",` +
		`"items":{"type":"string"}}}},` +
		`"status":{"type":"object","properties":{"legs":{"type":"integer"}}}}}}`
)

// table returns the JSON of a Table.
func table(name string, legs int, labels ...string) string {
	marked := map[string]string{}
	for n := 0; n < len(labels); n += 2 {
		marked[labels[n]] = labels[n+1]
	}
	encoded, err := json.Marshal(map[string]any{
		"apiVersion": "shop.example.com/v1", "kind": "Table",
		"metadata": map[string]any{"name": name, "namespace": "default", "labels": marked},
		"spec":     map[string]any{"legs": legs},
	})
	if err != nil {
		panic(err)
	}
	return string(encoded)
}

// withTables creates the CRD of tables and returns p.
func (p *person) withTables() *person {
	p.t.Helper()
	p.must(http.StatusCreated, http.MethodPost, definitionsPath, tablesCRD)
	return p
}

// kubeconfigOf writes a kubeconfig for a test server and returns its path.
func kubeconfigOf(t *testing.T, s *httptest.Server) (file string) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["it"] = &clientcmdapi.Cluster{Server: s.URL}
	if s.TLS != nil {
		config.Clusters["it"].CertificateAuthorityData = authorityOf(s)
	}
	config.Contexts["it"] = &clientcmdapi.Context{Cluster: "it"}
	config.CurrentContext = "it"
	file = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// authorityOf returns the certificate that clients of a test server must trust.
func authorityOf(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// written writes a file in a new directory and returns its path.
func written(t *testing.T, name, content string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), name)
	write(t, file, content)
	return file
}

// host is a fake host cluster with the objects that a test adds. It serves gets, lists, watches without events, and
// creations of reviews.
type host struct {
	*httptest.Server
	// answer returns the response to a posted object.
	answer func(path string, object map[string]any) map[string]any

	mu        sync.Mutex          // guards the fields below
	objects   map[string][]string // the JSON of objects by the path of their list
	discovery map[string]string   // responses of other paths
}

func newHost(t *testing.T) *host {
	h := &host{objects: map[string][]string{}, discovery: map[string]string{}}
	h.Server = httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	return h
}

// put adds an object to the cluster.
func (h *host) put(list, object string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.objects[list] = append(h.objects[list], object)
}

// discover sets the response of a discovery path.
func (h *host) discover(path, answer string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.discovery[path] = answer
}

func (h *host) serve(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	query := req.URL.Query()
	switch {
	case req.Method == http.MethodPost:
		var object map[string]any
		if err := json.NewDecoder(req.Body).Decode(&object); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(h.answer(req.URL.Path, object))
	case query.Get("sendInitialEvents") != "":
		w.WriteHeader(http.StatusUnprocessableEntity)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
	case query.Get("watch") != "":
		w.(http.Flusher).Flush()
		<-req.Context().Done()
	default:
		h.get(w, req)
	}
}

// get serves an object or a list. A list without objects is empty.
func (h *host) get(w http.ResponseWriter, req *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if answer, ok := h.discovery[req.URL.Path]; ok {
		fmt.Fprint(w, answer)
		return
	}
	list, name := filepath.Split(req.URL.Path)
	for _, object := range h.objects[strings.TrimSuffix(list, "/")] {
		if strings.Contains(object, fmt.Sprintf(`"name":%q`, name)) {
			fmt.Fprint(w, object)
			return
		}
	}
	if strings.HasPrefix(req.URL.Path, "/api/v1/namespaces/") && strings.Count(req.URL.Path, "/") == 4 {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"it is not in the host cluster",`+
			`"reason":"NotFound","code":404}`)
		return
	}
	if objects, ok := h.objects[req.URL.Path]; ok || !strings.Contains(req.URL.Path, "/configmaps/") {
		var first struct{ APIVersion, Kind string } // an untyped client needs the kind
		if len(objects) > 0 {
			_ = json.Unmarshal([]byte(objects[0]), &first)
			first.Kind += "List"
		}
		fmt.Fprintf(w, `{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"1"},"items":[%s]}`, first.APIVersion,
			first.Kind, strings.Join(objects, ","))
		return
	}
	w.WriteHeader(http.StatusNotFound)
	fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"it is not in the host cluster",`+
		`"reason":"NotFound","code":404}`)
}

// waitUntil waits until a condition is true. It has no timeout of its own: that of the test binary is the limit. The
// log says which condition it waits for.
func waitUntil(t testing.TB, condition string, reached func() bool) {
	t.Helper()
	if reached() {
		return
	}
	t.Logf("waiting until %s", condition)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !reached() {
		if t.Failed() {
			t.FailNow()
		}
		<-tick.C
	}
}
