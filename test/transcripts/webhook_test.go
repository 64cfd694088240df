package transcripts

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"sigs.k8s.io/yaml"
)

// webhooks is the server of a transcript's admission webhooks. Each has a path of its own, and the response that an
// exchange WEBHOOK has given it.
type webhooks struct {
	server  *httptest.Server
	stopped chan struct{} // closed when the test ends

	mu        sync.Mutex // guards the following
	responses map[string]webhookResponse
	calls     []call
}

// webhookResponse is what a webhook responds.
type webhookResponse struct {
	status string         // the HTTP status; empty: 200
	review string         // the version of the AdmissionReview; empty: that of the request
	raw    string         // the whole body, in which UID is that of the request
	hangs  bool           // there is no response until the client gives up
	body   map[string]any // the AdmissionResponse without its UID; its patch is JSON, not base64
}

// call is a request to a webhook.
type call struct {
	name string
	body []byte
}

func newWebhooks(t testing.TB) *webhooks {
	w := &webhooks{responses: map[string]webhookResponse{}, stopped: make(chan struct{})}
	w.server = httptest.NewTLSServer(w)
	t.Cleanup(func() {
		close(w.stopped)
		w.server.CloseClientConnections()
		w.server.Close()
	})
	return w
}

// authority returns the certificate of the server, for a caBundle.
func (w *webhooks) authority() string {
	block := &pem.Block{Type: "CERTIFICATE", Bytes: w.server.Certificate().Raw}
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(block))
}

// ServeHTTP responds as the webhook at the path, and records the call.
func (w *webhooks) ServeHTTP(writer http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	var review struct {
		APIVersion string
		Request    struct{ UID string }
	}
	_ = json.Unmarshal(body, &review)
	name := strings.TrimPrefix(req.URL.Path, "/")
	w.mu.Lock()
	w.calls = append(w.calls, call{name: name, body: body})
	response, known := w.responses[name]
	w.mu.Unlock()
	if response.hangs {
		select {
		case <-req.Context().Done():
		case <-w.stopped:
		}
		return
	}
	code, _ := strconv.Atoi(cmp.Or(response.status, "200"))
	if !known {
		code = http.StatusNotFound
	}
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(code)
	if response.raw != "" {
		_, _ = io.WriteString(writer, strings.ReplaceAll(response.raw, "UID", review.Request.UID))
		return
	}
	answer := map[string]any{"uid": review.Request.UID}
	for field, value := range response.body {
		answer[field] = value
	}
	_, _ = writer.Write(encode(map[string]any{"kind": "AdmissionReview",
		"apiVersion": cmp.Or(response.review, review.APIVersion), "response": answer}))
}

// setWebhook lets a webhook respond as the exchange says.
func (p *player) setWebhook(name string, lines []string) {
	p.t.Helper()
	if p.webhooks == nil {
		p.webhooks = newWebhooks(p.t)
		p.symbols.fix("{webhooks}", p.webhooks.server.URL)
		p.symbols.fix("{authority}", p.webhooks.authority())
	}
	var response webhookResponse
	for len(lines) > 0 && lines[0] != "" {
		header, value, _ := strings.Cut(lines[0], ":")
		value = strings.TrimPrefix(value, " ")
		switch header {
		case "Status":
			response.status = value
		case "Review":
			response.review = value
		case "Hangs":
			response.hangs = true
		case "Raw":
			response.raw = value
		default:
			p.t.Fatalf("WEBHOOK %s: unknown %q", name, header)
		}
		lines = lines[1:]
	}
	if err := yaml.Unmarshal([]byte(strings.Join(lines, "\n")), &response.body); err != nil {
		p.t.Fatal(err)
	}
	if patch, patches := response.body["patch"]; patches {
		response.body["patch"] = base64.StdEncoding.EncodeToString(encode(patch))
		if _, typed := response.body["patchType"]; !typed {
			response.body["patchType"] = "JSONPatch"
		}
	}
	p.webhooks.mu.Lock()
	defer p.webhooks.mu.Unlock()
	p.webhooks.responses[name] = response
}

// showCalls shows the reviews that webhooks have been sent since the last CALLS; those of one name only if given. The
// user is not shown if it is the administrator.
func (p *player) showCalls(e exchange) (lines []string) {
	p.webhooks.mu.Lock()
	calls := p.webhooks.calls
	p.webhooks.calls = nil
	p.webhooks.mu.Unlock()
	if e.has("unordered") {
		slices.SortStableFunc(calls, func(a, b call) int { return strings.Compare(a.name, b.name) })
	}
	names := strings.Fields(e.request[0])[1:]
	for _, c := range calls {
		if len(names) > 0 && !slices.Contains(names, c.name) {
			continue
		}
		lines = append(lines, "/"+c.name)
		if e.has("bodiless") {
			continue
		}
		root, err := parseJSON(c.body)
		if err != nil {
			lines = append(lines, string(c.body))
			continue
		}
		request := root.field("request")
		if user := request.field("userInfo"); user != nil && strings.Contains(user.line(), "system:masters") {
			user.keys, user.values = []string{"groups"}, []*node{user.field("groups")}
		}
		root.dropServers()
		root.sortManagers()
		p.symbols.inJSON(root, false)
		lines = append(lines, strings.Split(root.layout("", ""), "\n")...)
	}
	return lines
}
