package server

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// churned is the number of CRDs that the tests of this file create: "go test -run 'Churn|ThenUse' -crds 1000".
var churned = flag.Int("crds", 24, "number of CRDs")

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// churnedCRD is a CRD with a CEL rule that limits the size of objects to max. It may serve version v2, have version
// v3, and have a short name.
type churnedCRD struct {
	group, plural string
	max           int
	v2, v3        bool
	short         string
}

func (k *churnedCRD) name() string { return k.plural + "." + k.group }

func (k *churnedCRD) path(version string) string {
	return "/apis/" + k.group + "/" + version + "/namespaces/default/" + k.plural
}

func (k *churnedCRD) definition(resourceVersion string) string {
	version := func(name string, served, storage bool) map[string]any {
		return map[string]any{"name": name, "served": served, "storage": storage,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{
				"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object",
					"properties": map[string]any{
						"size": map[string]any{"type": "integer",
							"x-kubernetes-validations": []any{map[string]any{"rule": fmt.Sprintf("self <= %d", k.max)}}},
					}}},
			}}}
	}
	names := map[string]any{"plural": k.plural, "singular": k.plural + "one", "kind": "K" + k.plural}
	if k.short != "" {
		names["shortNames"] = []any{k.short}
	}
	versions := []any{version("v1", true, true), version("v2", k.v2, false)}
	if k.v3 {
		versions = append(versions, version("v3", true, false))
	}
	encoded, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": k.name(), "resourceVersion": resourceVersion},
		"spec": map[string]any{
			"group": k.group, "scope": "Namespaced",
			"names":    names,
			"versions": versions,
		},
	})
	if err != nil {
		panic(err)
	}
	return string(encoded)
}

func (k *churnedCRD) object(name string, size int) string {
	return fmt.Sprintf(`{"apiVersion":"%s/v1","kind":"K%s","metadata":{"name":%q},"spec":{"size":%d}}`, k.group, k.plural,
		name, size)
}

// apiClient sends requests to a server.
type apiClient struct {
	t      testing.TB
	url    string
	client *http.Client
}

// newAPIClient starts a whole server and returns its apiClient.
func newAPIClient(t testing.TB) apiClient {
	handler, _ := assembled(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		handler.ServeHTTP(w, req.WithContext(asOwnRequest(req.Context())))
	}))
	t.Cleanup(s.Close)
	return apiClient{t: t, url: s.URL, client: s.Client()}
}

func (a apiClient) ask(method, path, body string) (code int, answer string) {
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.url+path, strings.NewReader(body))
	if err != nil {
		a.t.Error(err)
		return 0, ""
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		a.t.Error(err)
		return 0, ""
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Error(err)
	}
	return resp.StatusCode, string(text)
}

// watch starts a watch. The returned function waits until an object of that name is added and ends the watch.
func (a apiClient) watch(path string) func(name string) {
	ctx, stop := context.WithCancel(a.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+path+"?watch=true&resourceVersion=0", nil)
	if err != nil {
		a.t.Error(err)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		a.t.Error(err)
		return func(string) { stop() }
	}
	return func(name string) {
		defer stop()
		defer func() { _ = resp.Body.Close() }()
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			if line := lines.Text(); strings.HasPrefix(line, `{"type":"ADDED"`) &&
				strings.Contains(line, fmt.Sprintf(`"name":%q`, name)) {
				return
			}
		}
		a.t.Errorf("a watch of %s ended without %s", path, name)
	}
}

func (a apiClient) want(code int, method, path, body string) {
	if got, answer := a.ask(method, path, body); got != code {
		a.t.Errorf("%s %s: %d, want %d: %.300s", method, path, got, code, answer)
	}
}

// waitDeleted waits until a GET of the path returns 404.
func (a apiClient) waitDeleted(path string) {
	for ; ; runtime.Gosched() {
		if code, _ := a.ask(http.MethodGet, path, ""); code == http.StatusNotFound || a.t.Failed() {
			return
		}
	}
}

// TestCreateThenUse checks that a resource, its other versions and its discovery are served as soon as the creation of
// its CRD has returned.
func TestCreateThenUse(t *testing.T) {
	t.Parallel()
	a := newAPIClient(t)
	each(*churned, func(n int) {
		k := &churnedCRD{group: fmt.Sprintf("g%d.example.com", n%3), plural: fmt.Sprintf("things%d", n), max: n, v2: true}
		a.want(http.StatusCreated, http.MethodPost, definitionsPath, k.definition(""))
		a.want(http.StatusCreated, http.MethodPost, k.path("v1"), k.object("a", n))
		a.want(http.StatusOK, http.MethodGet, k.path("v2")+"/a", "")
		if _, list := a.ask(http.MethodGet, "/apis/"+k.group+"/v1", ""); !strings.Contains(list, `"`+k.plural+`"`) {
			t.Errorf("%s is not in discovery", k.plural)
		}
	})
}

// TestChurn creates, uses, changes and deletes CRDs in a random order. Every response must be right, and no goroutines,
// compiled schemas or memory of deleted CRDs may remain.
func TestChurn(t *testing.T) {
	a := newAPIClient(t)
	warmUp := &churnedCRD{group: "warm.example.com", plural: "ups", max: 1, v2: true}
	a.live(warmUp, 3)
	a.client.CloseIdleConnections()
	goroutines, heap := runtime.NumGoroutine(), heapInUse()
	each(*churned, func(n int) {
		k := &churnedCRD{group: fmt.Sprintf("g%d.example.com", n%3), plural: fmt.Sprintf("things%d", n), max: 10, v2: true}
		const steps = 8
		a.live(k, steps)
	})
	a.client.CloseIdleConnections()
	waitUntil(t, "the goroutines of deleted CRDs have ended",
		func() bool { return runtime.NumGoroutine() <= goroutines+5 })
	waitUntil(t, "the schemas of deleted CRDs have been removed", func() bool {
		_, page := a.ask(http.MethodGet, "/metrics", "")
		return strings.Contains(page, "crd_server_schema_cache_bytes 0\n")
	})
	perCRD, slack := int64(20<<10), int64(8<<20)
	if grown := heapInUse() - heap; grown > slack+perCRD*int64(*churned) {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	} else {
		t.Logf("the heap grew by %d KiB from %d", grown>>10, heap>>10)
	}
}

// live creates a CRD, does some random steps with it, and deletes it.
func (a apiClient) live(k *churnedCRD, steps int) {
	a.want(http.StatusCreated, http.MethodPost, definitionsPath, k.definition(""))
	for step := range steps {
		name, added := fmt.Sprintf("o%d", step), func(string) {}
		switch rand.IntN(6) {
		case 0: // another schema
			k.max = 1 + rand.IntN(100)
			a.change(k)
		case 1: // another version served
			k.v2 = !k.v2
			a.change(k)
		case 2: // another set of versions
			k.v3 = !k.v3
			a.change(k)
		case 3: // other names
			k.short = fmt.Sprintf("short%d%s", step, k.plural)
			a.change(k)
			if _, list := a.ask(http.MethodGet, "/apis/"+k.group+"/v1", ""); !strings.Contains(list, `"`+k.short+`"`) {
				a.t.Errorf("%s is not in discovery", k.short)
			}
		case 4:
			a.want(http.StatusOK, http.MethodGet, k.path("v1"), "")
			a.want(http.StatusOK, http.MethodDelete, k.path("v1"), "")
		case 5:
			added = a.watch(k.path("v1"))
		}
		a.want(http.StatusUnprocessableEntity, http.MethodPost, k.path("v1"), k.object(name, k.max+1))
		a.want(http.StatusCreated, http.MethodPost, k.path("v1"), k.object(name, k.max))
		added(name)
		for version, served := range map[string]bool{"v1": true, "v2": k.v2, "v3": k.v3} {
			code := http.StatusOK
			if !served {
				code = http.StatusNotFound
			}
			a.want(code, http.MethodGet, k.path(version)+"/"+name, "")
		}
	}
	a.want(http.StatusOK, http.MethodDelete, definitionsPath+"/"+k.name(), "")
	// The CRD is deleted from etcd a moment before the server observes that.
	a.waitDeleted(definitionsPath + "/" + k.name())
	a.waitDeleted(k.path("v1"))
}

// change updates the CRD to its current fields.
func (a apiClient) change(k *churnedCRD) {
	const tries = 20
	for range tries {
		var live struct {
			Metadata struct{ ResourceVersion string }
		}
		_, answer := a.ask(http.MethodGet, definitionsPath+"/"+k.name(), "")
		if err := json.Unmarshal([]byte(answer), &live); err != nil {
			a.t.Error(err)
			return
		}
		code, answer := a.ask(http.MethodPut, definitionsPath+"/"+k.name(), k.definition(live.Metadata.ResourceVersion))
		if code != http.StatusConflict {
			if code != http.StatusOK {
				a.t.Errorf("changing %s: %d: %.300s", k.name(), code, answer)
			}
			return
		}
	}
	a.t.Errorf("changing %s: always a conflict", k.name())
}

// each calls do for each number below count, eight of them at a time.
func each(count int, do func(n int)) {
	const at = 8
	numbers := make(chan int)
	var group sync.WaitGroup
	for range at {
		group.Go(func() {
			for n := range numbers {
				do(n)
			}
		})
	}
	for n := range count {
		numbers <- n
	}
	close(numbers)
	group.Wait()
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
