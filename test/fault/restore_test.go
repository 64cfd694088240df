package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/etcd/cluster"
)

// restoration is a way to restore etcd while servers run.
type restoration struct {
	name    string
	options cluster.Restore
	// overtaken: etcd is written to before the servers reach it, until its revision is larger than before.
	overtaken bool
}

// sameCluster is the token that etcd uses by default: the restored cluster has the ID of the old one.
const sameCluster = "etcd-cluster"

var restorations = []restoration{
	{name: "bumped", options: cluster.Restore{RevisionBump: 1_000_000_000, MarkCompacted: true, Token: sameCluster}},
	{name: "gone back", options: cluster.Restore{Token: sameCluster}},
	{name: "overtaken", options: cluster.Restore{Token: sameCluster}, overtaken: true},
	{name: "replaced", options: cluster.Restore{Token: "another"}, overtaken: true},
}

// TestRestore restores etcd from a snapshot while two servers run. All watches must end with 410 Expired, lists must
// have the restored state, and new watches must have the changes after it.
func TestRestore(t *testing.T) {
	besideOthers(t)
	f := newTrouble(t)
	first := f.client
	options := f.options
	options.DataDir = filepath.Join(t.TempDir(), "second")
	second := newClient(t, startServer(t, options))
	for _, r := range restorations {
		t.Run(r.name, func(t *testing.T) { f.restore(t, r, map[string]*client{"first": first, "second": second}) })
	}
}

func (f *trouble) restore(t *testing.T, r restoration, clients map[string]*client) {
	one := clients["first"]
	for _, name := range []string{"back", "changed"} {
		one.must(t, http.StatusCreated, http.MethodPost, cells, asJSON, body(name, "before", 0))
	}
	r.options.Snapshot = filepath.Join(t.TempDir(), "snapshot")
	if err := f.cluster.Snapshot(t.Context(), r.options.Snapshot); err != nil {
		t.Fatal(err)
	}
	one.must(t, http.StatusOK, http.MethodDelete, cells+"/back", "", nil)
	one.must(t, http.StatusOK, http.MethodPatch, cells+"/changed", asMergePatch, []byte(`{"spec":{"value":"after"}}`))
	one.must(t, http.StatusCreated, http.MethodPost, cells, asJSON, body("lost", "after", 0))
	watches := map[string]*events{}
	for name, c := range clients {
		watches[name] = c.watch(t)
	}
	known := newestRevision(t, f.cluster)
	f.replace(t, r, known)

	for name, c := range clients {
		if event := watches[name].next(t); event.Type != "ERROR" || event.Object.Code != http.StatusGone {
			t.Errorf("the watch of the %s server got %+v", name, event)
		}
		items, revision, code, err := c.list(t.Context())
		names := slices.Sorted(maps.Keys(items))
		if err != nil || code != http.StatusOK || !slices.Equal(names, []string{"back", "changed"}) ||
			items["changed"].Spec.Value != "before" {
			t.Errorf("the %s server lists %+v at %d: %d, %v", name, items, revision, code, err)
		}
		watches[name] = c.watch(t)
	}
	for _, name := range []string{"back", "changed"} {
		one.must(t, http.StatusOK, http.MethodDelete, cells+"/"+name, "", nil)
		for server, w := range watches {
			if event := w.next(t); event.Type != "DELETED" || event.Object.Metadata.Name != name {
				t.Errorf("the new watch of the %s server got %+v", server, event)
			}
		}
	}
}

// replace restores the snapshot. known is the revision of etcd before.
func (f *trouble) replace(t *testing.T, r restoration, known int64) {
	f.proxy.cut()
	if err := f.member.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := f.member.Restore(r.options); err != nil {
		t.Fatal(err)
	}
	if err := f.member.Start(); err != nil {
		t.Fatal(err)
	}
	for now := newestRevision(t, f.cluster); r.overtaken && now < known+10; now = newestRevision(t, f.cluster) {
		if _, err := f.etcd.Put(t.Context(), "/outside", ""); err != nil {
			t.Fatal(err)
		}
	}
	f.proxy.heal()
}

// events are the events of a watch.
type events struct{ decoder *json.Decoder }

// event has the fields of an event that scenarios use.
type event struct {
	Type   string
	Object struct {
		object
		Code    int
		Message string
	}
}

// watch begins a watch after the present state, which ends with the test.
func (c *client) watch(t *testing.T) *events {
	t.Helper()
	_, revision, code, err := c.list(t.Context())
	if err != nil || code != http.StatusOK {
		t.Fatalf("a list: %d, %v", code, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*longAway)
	t.Cleanup(cancel)
	resp, err := c.open(ctx, http.MethodGet, fmt.Sprint(cells, "?watch=true&resourceVersion=", revision), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("a watch: %d", resp.StatusCode)
	}
	return &events{decoder: json.NewDecoder(resp.Body)}
}

func (e *events) next(t *testing.T) event {
	t.Helper()
	var next event
	if err := e.decoder.Decode(&next); err != nil {
		t.Fatalf("the watch has ended: %v", err)
	}
	return next
}

// longAway is how long etcd is away in the full form of TestEtcdAway.
const longAway = 3 * time.Minute

// TestEtcdAway kills etcd. Once the server knows, it must refuse everything that needs etcd with 503, which clients do
// not repeat by themselves, and answer reads of any state. It must recover when etcd is back.
func TestEtcdAway(t *testing.T) {
	besideOthers(t)
	f := newTrouble(t)
	f.must(t, http.StatusCreated, http.MethodPost, cells, asJSON, body("cell", "first", 0))
	f.must(t, http.StatusOK, http.MethodGet, cells, "", nil)
	w := f.watch(t)
	if err := f.member.Kill(); err != nil {
		t.Fatal(err)
	}
	away := time.Now()
	waitFor(t, "the server knows", func() bool { return f.refuses(t, http.MethodGet, cells, nil) })
	known := time.Since(away)
	var slowest time.Duration
	for _, request := range []struct {
		method, path string
		body         []byte
	}{
		{http.MethodGet, cells, nil},
		{http.MethodGet, cells + "/cell", nil},
		{http.MethodGet, cells + "?watch=true", nil},
		{http.MethodPost, cells, body("other", "refused", 0)},
		{http.MethodPut, cells + "/cell", body("cell", "refused", 0)},
		{http.MethodPatch, cells + "/cell", []byte(`{"spec":{"value":"refused"}}`)},
		{http.MethodDelete, cells + "/cell", nil},
		{http.MethodDelete, cells, nil},
		{http.MethodGet, definitions, nil},
		{http.MethodDelete, definitions + "/" + plural + "." + group, nil},
	} {
		began := time.Now()
		if !f.refuses(t, request.method, request.path, request.body) {
			t.Errorf("%s %s is not refused", request.method, request.path)
		}
		slowest = max(slowest, time.Since(began))
	}
	f.must(t, http.StatusOK, http.MethodGet, cells+"?resourceVersion=0", "", nil)
	f.must(t, http.StatusOK, http.MethodGet, cells+"/cell?resourceVersion=0", "", nil)
	if f.isReady(t.Context()) {
		t.Error("ready without etcd")
	}
	pause(t.Context(), size(time.Second, longAway)) // attempts to connect become rare

	if err := f.member.Start(); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	waitFor(t, "the server is ready", func() bool { return f.isReady(t.Context()) })
	recovered := time.Since(back)
	f.must(t, http.StatusOK, http.MethodPatch, cells+"/cell", asMergePatch, []byte(`{"spec":{"value":"again"}}`))
	if event := w.next(t); event.Type != "MODIFIED" || event.Object.Spec.Value != "again" {
		t.Errorf("the watch got %+v", event)
	}
	written.add(t, "refuses requests %s after etcd is away, the slowest within %s; ready %s after it is back",
		known.Round(time.Millisecond), slowest.Round(time.Millisecond), recovered.Round(time.Millisecond))
}

// refuses reports whether a request is refused with a 503 that names etcd and does not say when to repeat it.
func (c *client) refuses(t *testing.T, method, path string, content []byte) bool {
	t.Helper()
	mediaType := asJSON
	if method == http.MethodPatch {
		mediaType = asMergePatch
	}
	resp, err := c.open(t.Context(), method, path, mediaType, content)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var status answer
	if err := json.NewDecoder(resp.Body).Decode(&status); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode == http.StatusServiceUnavailable && status.Reason == "ServiceUnavailable" &&
		strings.Contains(status.Message, "etcd is unavailable") && resp.Header.Get("Retry-After") == ""
}
