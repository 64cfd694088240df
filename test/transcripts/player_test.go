package transcripts

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"sigs.k8s.io/yaml"
)

const (
	definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	// patience bounds every wait, pause is the interval of polls.
	patience = 30 * time.Second
	pause    = 50 * time.Millisecond
	// answerTimeout bounds one request, such as one that should not have opened a watch.
	answerTimeout = 10 * time.Second
)

// unremarkable headers are not shown: they are on every response, or say nothing about it.
var unremarkable = []string{"Audit-Id", "Content-Length", "Content-Type", "Date", "X-Kubernetes-Pf-Flowschema-Uid",
	"X-Kubernetes-Pf-Prioritylevel-Uid"}

// usualCacheControl is on every response, and only shown where it differs.
const usualCacheControl = "no-cache, private"

// player plays one transcript against one server.
type player struct {
	t       testing.TB
	target  *target
	symbols *symbols
	watches map[string]*watch
	// sorted says that managed fields are shown sorted: servers sort them by second, and controllers write them too.
	sorted bool
	// webhooks is nil before the first WEBHOOK.
	webhooks *webhooks
}

func newPlayer(t testing.TB, target *target) *player {
	return &player{t: t, target: target, symbols: newSymbols(), watches: map[string]*watch{}}
}

// play sends an exchange's request and returns the response in the format of the transcript.
func (p *player) play(e exchange) []string {
	p.t.Helper()
	words := strings.Fields(e.request[0])
	switch words[0] {
	case "CRD":
		p.serve(strings.Join(e.request[1:], "\n"))
		return nil
	case "SAMPLES":
		p.installSamples()
		return nil
	case "WATCH":
		e.request = append([]string{"GET " + words[2]}, e.request[1:]...)
		return p.open(words[1], e)
	case "FRAMES":
		return p.frames(words[1], words[2])
	case "WEBHOOK":
		p.setWebhook(words[1], e.request[1:])
		return nil
	case "CALLS":
		return p.showCalls(e)
	}
	awaited, repeat := e.directive("until")
	for start := time.Now(); ; time.Sleep(pause) {
		before := p.symbols.clone()
		shown := p.show(e)
		if !repeat || strings.Contains(text(shown), awaited) || time.Since(start) > patience {
			return shown
		}
		p.symbols = before
	}
}

// show sends a request once and shows the response.
func (p *player) show(e exchange) []string {
	ctx, cancel := context.WithTimeout(p.t.Context(), answerTimeout)
	defer cancel()
	response, err := p.send(ctx, e)
	if err != nil {
		return []string{"no response: " + err.Error()}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return []string{"half a response: " + err.Error()}
	}
	lines := p.head(response, e)
	if e.has("audit") {
		lines = append(lines, p.annotations(response.Header.Get("Audit-Id"))...)
	}
	if len(body) == 0 || e.has("bodiless") {
		return lines
	}
	return append(append(lines, ""), strings.Split(p.body(response, e, body), "\n")...)
}

// send sends an exchange's request. The caller closes the response's body.
func (p *player) send(ctx context.Context, e exchange) (*http.Response, error) {
	p.t.Helper()
	method, path, _ := strings.Cut(e.request[0], " ")
	rest := e.request[1:]
	header := http.Header{}
	for len(rest) > 0 && rest[0] != "" {
		name, value, _ := strings.Cut(rest[0], ":")
		header.Add(name, p.expand(strings.TrimSpace(value)))
		rest = rest[1:]
	}
	var body io.Reader
	if len(rest) > 1 {
		content := p.expand(strings.Join(rest[1:], "\n"))
		if e.has("protobuf") {
			content = toProtobuf(p.t, content)
			header.Set("Content-Type", "application/vnd.kubernetes.protobuf")
		}
		body = strings.NewReader(content)
	}
	request, err := http.NewRequestWithContext(ctx, method, p.target.url+p.expand(path), body)
	if err != nil {
		p.t.Fatalf("%s: %v", e.title(), err)
	}
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", "transcripts/v1")
	}
	request.Header = header
	if e.has("anonymous") {
		return p.target.anonymous.Do(request)
	}
	return p.target.client.Do(request)
}

// expand fills in values of this run and expands templates.
func (p *player) expand(content string) string {
	p.t.Helper()
	content = p.symbols.expand(content)
	if !strings.Contains(content, "{{") {
		return content
	}
	parsed, err := template.New("").Funcs(template.FuncMap{"repeat": strings.Repeat}).Parse(content)
	if err != nil {
		p.t.Fatal(err)
	}
	var out strings.Builder
	if err := parsed.Execute(&out, nil); err != nil {
		p.t.Fatal(err)
	}
	return out.String()
}

// head returns the first line and the headers of a response.
func (p *player) head(response *http.Response, e exchange) []string {
	header := response.Header
	lines := []string{strings.TrimSpace(fmt.Sprintf("%d %s", response.StatusCode, header.Get("Content-Type")))}
	var names []string
	for name := range header {
		usual := slices.Contains(unremarkable, name) || name == "Cache-Control" && header.Get(name) == usualCacheControl
		if !usual || e.has("headers") && !slices.Contains([]string{"Date", "Content-Type", "Content-Length"}, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range header.Values(name) {
			lines = append(lines, name+": "+p.symbols.inText(value))
		}
	}
	if header.Get("Cache-Control") == "" {
		lines = append(lines, "Cache-Control: (none)")
	}
	return lines
}

// body returns the body of a response: JSON laid out, protobuf as JSON, everything else unchanged.
func (p *player) body(response *http.Response, e exchange, body []byte) string {
	if isProtobuf(response.Header.Get("Content-Type")) {
		body = fromProtobuf(body)
	}
	root, err := parseJSON(body)
	if err != nil || e.has("raw") {
		return strings.TrimSuffix(p.symbols.inText(string(body)), "\n")
	}
	if name, ok := e.directive("item"); ok {
		root.keep(name)
	}
	if names, ok := e.directive("resources"); ok {
		root.keepResources(strings.Fields(names))
	}
	root.dropServers()
	if p.sorted {
		root.sortManagers()
	}
	if e.has("unvalued") {
		root.hideValues()
	}
	if e.has("unordered") {
		root.unorder()
	}
	p.symbols.inJSON(root, strings.Contains(e.request[0], "continue="))
	return root.layout("", "")
}

// definition has the fields of a CRD that serve needs.
type definition struct {
	Metadata struct{ Name string }
	Spec     struct {
		Group, Scope string
		Names        struct{ Plural string }
		Versions     []struct {
			Name   string
			Served bool
		}
	}
}

// serve creates a CRD and waits until each served version of it can be listed.
func (p *player) serve(content string) {
	p.t.Helper()
	var crd definition
	if err := yaml.Unmarshal([]byte(content), &crd); err != nil {
		p.t.Fatal(err)
	}
	create := append([]string{"POST " + definitions, "Content-Type: application/yaml", ""},
		strings.Split(content, "\n")...)
	if code, body := p.ask(exchange{request: create}); code != http.StatusCreated {
		p.t.Fatalf("create CRD %s: %d %s", crd.Metadata.Name, code, body)
	}
	p.await("CRD "+crd.Metadata.Name+" is established",
		exchange{request: []string{"GET " + definitions + "/" + crd.Metadata.Name}}, func(_ int, body []byte) bool {
			var status struct {
				Status struct {
					Conditions []struct{ Type, Status string }
				}
			}
			_ = json.Unmarshal(body, &status)
			return slices.Contains(status.Status.Conditions, struct{ Type, Status string }{"Established", "True"})
		})
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		path := fmt.Sprintf("/apis/%s/%s/%s", crd.Spec.Group, version.Name, crd.Spec.Names.Plural)
		p.await(path+" is served", exchange{request: []string{"GET " + path}},
			func(code int, _ []byte) bool { return code == http.StatusOK })
	}
}

// await repeats a request until the response is as expected.
func (p *player) await(what string, e exchange, done func(code int, body []byte) bool) {
	p.t.Helper()
	for start := time.Now(); ; time.Sleep(pause) {
		code, body := p.ask(e)
		if done(code, body) {
			return
		}
		if time.Since(start) > patience {
			p.t.Fatalf("%s: not within %s; last: %d %s", what, patience, code, body)
		}
	}
}

func (p *player) ask(e exchange) (int, []byte) {
	p.t.Helper()
	response, err := p.send(p.t.Context(), e)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, body
}
