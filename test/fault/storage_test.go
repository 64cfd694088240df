package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/etcd/cluster"
	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// trouble is a server on its own etcd, behind a proxy.
type trouble struct {
	t       *testing.T
	cluster *cluster.Cluster
	member  *cluster.Member
	etcd    *clientv3.Client
	proxy   *proxy
	options process.Options
	server  *process.Server
	*client
}

// newTrouble starts a server on an etcd with the arguments given, and creates the CRD.
func newTrouble(t *testing.T, etcdArgs ...string) *trouble {
	t.Helper()
	began := time.Now()
	t.Cleanup(func() { written.outcome(t, began) })
	f := &trouble{t: t, cluster: cluster.Start(t, 1, etcdArgs...)}
	f.member, f.etcd = f.cluster.Members[0], f.cluster.Client
	f.proxy = startProxy(t, f.member.URL)
	f.options = process.Options{Binary: programs.Server(), DataDir: filepath.Join(t.TempDir(), "server"),
		Args: []string{"--etcd-servers", f.proxy.url(), "--etcd-compaction-interval", "0"}}
	f.restart()
	f.must(t, http.StatusCreated, http.MethodPost, definitions, asJSON, []byte(definition))
	return f
}

// restart starts the server, or restarts it with an empty cache.
func (f *trouble) restart() {
	f.t.Helper()
	if f.server != nil {
		if err := f.server.Stop(); err != nil {
			f.t.Fatal(err)
		}
	}
	f.server = startServer(f.t, f.options)
	f.client = newClient(f.t, f.server)
}

// answer has the fields of a Status, an object or a list that scenarios use.
type answer struct {
	code     int
	Reason   string
	Message  string
	Metadata struct{ Continue, ResourceVersion string }
	Items    []object
}

// ask sends a request with JSON and decodes the response.
func (c *client) ask(t *testing.T, method, path string, body []byte) answer {
	t.Helper()
	mediaType := asJSON
	if method == http.MethodPatch {
		mediaType = asMergePatch
	}
	code, content, err := c.do(t.Context(), method, path, mediaType, body)
	a := answer{code: code}
	if err == nil {
		err = json.Unmarshal(content, &a)
	}
	if err != nil {
		t.Fatalf("%s %s: %d %v %.300s", method, path, code, err, content)
	}
	return a
}

// askBriefly sends a request without a timeout and one with a timeout of two seconds, which must be answered first.
func (c *client) askBriefly(t *testing.T, method, path string, body []byte) answer {
	t.Helper()
	ctx, giveUp := context.WithCancel(t.Context())
	answered := make(chan struct{})
	go func() { // ends with the context
		defer close(answered)
		_, _, _ = c.do(ctx, method, path, asMergePatch, body)
	}()
	brief := c.ask(t, method, path+"?timeout=2s", body)
	select {
	case <-answered:
		t.Errorf("%s %s: with a timeout of 2s not answered before one without", method, path)
	default:
	}
	giveUp()
	<-answered
	return brief
}

// isReady requests /readyz.
func (c *client) isReady(ctx context.Context) bool {
	code, _, err := c.do(ctx, http.MethodGet, "/readyz", "", nil)
	return err == nil && code == http.StatusOK
}

// waitFor waits for a condition.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); pause(t.Context(), 20*time.Millisecond) {
		if time.Since(began) > patience || t.Context().Err() != nil {
			t.Fatalf("not after %s: %s", patience, what)
		}
	}
}

// large returns an object of about 200 KiB.
func large(name string) []byte { return body(name, name+strings.Repeat(" ", 200<<10), 0) }

// fill creates large objects until one is refused. It returns the names of the acknowledged ones and the refusal.
func (c *client) fill(t *testing.T, most int) (names []string, refusal answer, err error) {
	t.Helper()
	for n := range most {
		name := fmt.Sprintf("large-%d", n)
		code, content, err := c.do(t.Context(), http.MethodPost, cells, asJSON, large(name))
		if err != nil {
			return names, refusal, err
		}
		if code != http.StatusCreated {
			refusal.code = code
			return names, refusal, json.Unmarshal(content, &refusal)
		}
		names = append(names, name)
	}
	return names, refusal, errors.New("nothing was refused")
}

// TestQuota fills etcd up to its quota. Writes must be refused with a Status, reads and deletions must work, and
// writes must work again when there is space.
func TestQuota(t *testing.T) {
	besideOthers(t)
	f := newTrouble(t, "-quota-backend-bytes", fmt.Sprint(16<<20))
	names, refusal, err := f.fill(t, 200)
	if err != nil {
		t.Fatal(err)
	}
	if refusal.code < 500 || !strings.Contains(refusal.Message, "database space exceeded") {
		t.Errorf("a write beyond the quota: %+v", refusal)
	}
	list := f.ask(t, http.MethodGet, cells, nil)
	if list.code != http.StatusOK {
		t.Errorf("a list: %+v", list)
	}
	var listed []string
	for _, item := range list.Items {
		listed = append(listed, item.Metadata.Name)
	}
	// etcd applies the write that exceeds the quota before it refuses it (quotaApplierV3), unless it knows already.
	refused := fmt.Sprintf("large-%d", len(names))
	if unrefused := slices.DeleteFunc(slices.Clone(listed),
		func(name string) bool { return name == refused }); !sameElements(unrefused, names) {
		t.Errorf("listed are %q, not %q", listed, names)
	}
	if !f.isReady(t.Context()) {
		t.Error("not ready, though reads are served")
	}
	for _, name := range listed {
		f.must(t, http.StatusOK, http.MethodDelete, cells+"/"+name, "", nil)
	}
	f.makeRoom()
	f.must(t, http.StatusCreated, http.MethodPost, cells, asJSON, large("later"))
	written.add(t, "after %d objects of 200 KiB: %d %s: %s", len(names), refusal.code, refusal.Reason, refusal.Message)
}

// sameElements compares two lists without their order.
func sameElements(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// makeRoom compacts and defragments etcd and disarms its alarms, as an operator does.
func (f *trouble) makeRoom() {
	f.t.Helper()
	ctx := f.t.Context()
	now, err := f.etcd.Get(ctx, "/")
	if err == nil {
		_, err = f.etcd.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical())
	}
	if err == nil {
		_, err = f.etcd.Defragment(ctx, f.member.URL)
	}
	if err == nil {
		_, err = f.etcd.AlarmDisarm(ctx, &clientv3.AlarmMember{})
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// TestCompaction compacts revisions that clients use. Watches and lists must be told to start again, and lists how.
func TestCompaction(t *testing.T) {
	besideOthers(t)
	f := newTrouble(t)
	for n := range 10 {
		f.must(t, http.StatusCreated, http.MethodPost, cells, asJSON, body(fmt.Sprintf("cell-%d", n), "first", 0))
	}
	page := f.ask(t, http.MethodGet, cells+"?limit=4", nil)
	for n := range 10 {
		f.must(t, http.StatusOK, http.MethodPatch, fmt.Sprintf("%s/cell-%d", cells, n), asMergePatch,
			[]byte(`{"spec":{"value":"second"}}`))
	}
	f.makeRoom()
	f.restart()
	rest := f.ask(t, http.MethodGet, cells+"?limit=4&continue="+url.QueryEscape(page.Metadata.Continue), nil)
	if rest.code != http.StatusGone || rest.Reason != "Expired" || rest.Metadata.Continue == "" {
		t.Fatalf("a list that goes on: %+v", rest)
	}
	rest = f.ask(t, http.MethodGet, cells+"?continue="+url.QueryEscape(rest.Metadata.Continue), nil)
	if rest.code != http.StatusOK || len(rest.Items) != 6 || rest.Items[0].Metadata.Name != "cell-4" {
		t.Errorf("a list that goes on at another revision: %+v", rest)
	}
	if exact := f.ask(t, http.MethodGet,
		cells+"?resourceVersionMatch=Exact&resourceVersion="+page.Metadata.ResourceVersion,
		nil); exact.code != http.StatusGone {
		t.Errorf("a list of what is gone: %+v", exact)
	}
	code, events, err := f.do(t.Context(), http.MethodGet,
		cells+"?watch=1&resourceVersion="+page.Metadata.ResourceVersion, "", nil)
	if err != nil || code != http.StatusOK && code != http.StatusGone ||
		!strings.Contains(string(events), `"code":410`) {
		t.Errorf("a watch from what is gone: %d %v %.300s", code, err, events)
	}
}

// TestCorruptedValue stores an invalid object in etcd. Only lists that contain it may fail, and it can be deleted.
func TestCorruptedValue(t *testing.T) {
	besideOthers(t)
	f := newTrouble(t)
	others := strings.ReplaceAll(cells, plural, "others")
	f.must(t, http.StatusCreated, http.MethodPost, definitions, asJSON,
		[]byte(strings.NewReplacer("cells", "others", "Cell", "Other", `"cell"`, `"other"`).Replace(definition)))
	f.must(t, http.StatusCreated, http.MethodPost, cells, asJSON, body("good", "x", 0))
	f.must(t, http.StatusCreated, http.MethodPost, cells, asJSON, body("bad", "x", 0))
	f.must(t, http.StatusOK, http.MethodGet, cells, "", nil) // it is in memory
	if _, err := f.etcd.Put(t.Context(), "/registry/"+group+"/"+plural+"/fault/bad", "\x00 no object"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the server has seen the value", func() bool {
		return f.ask(t, http.MethodGet, cells+"/bad",
			nil).code != http.StatusOK
	})
	for _, when := range []string{"while it runs", "after a restart"} {
		if list := f.ask(t, http.MethodGet, cells, nil); list.code != http.StatusInternalServerError ||
			list.Reason != "StorageReadError" || !strings.Contains(list.Message, "bad") {
			t.Errorf("%s, a list: %+v", when, list)
		}
		if bad := f.ask(t, http.MethodGet, cells+"/bad", nil); bad.code != http.StatusInternalServerError ||
			!strings.Contains(bad.Message, "corrupt object") {
			t.Errorf("%s, the object: %+v", when, bad)
		}
		f.must(t, http.StatusOK, http.MethodGet, cells+"/good", "", nil)
		f.must(t, http.StatusOK, http.MethodPatch, cells+"/good", asMergePatch,
			fmt.Appendf(nil, `{"spec":{"value":"%s"}}`, when))
		f.must(t, http.StatusOK, http.MethodGet, others, "", nil)
		if !f.isReady(t.Context()) {
			t.Error("not ready")
		}
		f.restart()
	}
	if refused := f.ask(t, http.MethodDelete, cells+"/bad", nil); refused.code != http.StatusInternalServerError {
		t.Errorf("deleting it like any other: %+v", refused)
	}
	f.must(t, http.StatusOK, http.MethodDelete, cells+"/bad?ignoreStoreReadErrorWithClusterBreakingPotential=true", "",
		nil)
	if list := f.ask(t, http.MethodGet, cells, nil); list.code != http.StatusOK || len(list.Items) != 1 {
		t.Errorf("a list without it: %+v", list)
	}
}

// TestSlowEtcd delays the responses of etcd, then stops it for a while. Requests that need etcd must wait and time
// out, reads from the cache must work, and the server must become unready, and ready again.
func TestSlowEtcd(t *testing.T) {
	besideOthers(t)
	f := newTrouble(t)
	f.must(t, http.StatusCreated, http.MethodPost, cells, asJSON, body("cell", "first", 0))
	f.must(t, http.StatusOK, http.MethodGet, cells, "", nil)
	f.proxy.delay.Store(int64(200 * time.Millisecond))
	f.must(t, http.StatusOK, http.MethodPatch, cells+"/cell", asMergePatch, []byte(`{"spec":{"value":"late"}}`))
	f.must(t, http.StatusOK, http.MethodGet, cells, "", nil)
	f.proxy.delay.Store(0)

	if err := f.member.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	patched := f.askBriefly(t, http.MethodPatch, cells+"/cell", []byte(`{"spec":{"value":"never"}}`))
	listed := f.askBriefly(t, http.MethodGet, cells, nil)
	if patched.code < 500 || listed.code < 429 {
		t.Errorf("with an etcd that does not answer: %+v, %+v", patched, listed)
	}
	f.must(t, http.StatusOK, http.MethodGet, cells+"?resourceVersion=0", "", nil)
	if f.isReady(t.Context()) {
		t.Error("ready without etcd")
	}
	if err := f.member.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	waitFor(t, "the server is ready", func() bool { return f.isReady(t.Context()) })
	f.must(t, http.StatusOK, http.MethodPatch, cells+"/cell", asMergePatch, []byte(`{"spec":{"value":"again"}}`))
	f.must(t, http.StatusOK, http.MethodGet, cells, "", nil)
	written.add(t, "without an answer of etcd a write gets %d, a list %d; ready %s after it is back", patched.code,
		listed.code, time.Since(back).Round(time.Millisecond))
}
