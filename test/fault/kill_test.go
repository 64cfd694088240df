package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
)

const (
	killWriters = 32
	// killSlots is the number of objects of each writer.
	killSlots = 20
	// startPatience bounds a start; a server that takes longer is ended, and prints its goroutines.
	startPatience = 30 * time.Second
)

// TestKill kills a server with its etcd at random moments while many clients write. After each start every object
// must be as acknowledged last, or as the one request in progress makes it.
func TestKill(t *testing.T) {
	besideOthers(t)
	defer written.outcome(t, time.Now())
	options := process.Options{Binary: programs.Server(), DataDir: filepath.Join(t.TempDir(), "data")}
	server := startServer(t, options)
	options.Port = server.Port()
	newClient(t, server).must(t, http.StatusCreated, http.MethodPost, definitions, asJSON, []byte(definition))
	writers := newWriters(t, killWriters)
	var (
		kills  = size(6, 200)
		random = choices(t, 0)
		starts []time.Duration
	)
	for range kills {
		killWhileWriting(t, server, writers, random)
		began := time.Now()
		server = startServer(t, options)
		starts = append(starts, time.Since(began))
		checkWriters(t, newClient(t, server), writers)
		if t.Failed() {
			t.FailNow()
		}
	}
	acknowledged, unknown := counted(writers)
	written.add(t, "%d kills under %d writers: %d writes acknowledged, %d under way", kills, killWriters, acknowledged,
		unknown)
	slices.Sort(starts)
	written.add(t, "starts took %s in the median, %s at most", starts[len(starts)/2].Round(time.Millisecond),
		starts[len(starts)-1].Round(time.Millisecond))
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
}

// startServer starts a server that compares its cache with etcd all the time; a difference fails the test. It is
// killed at the end of the test if it still runs.
func startServer(t *testing.T, options process.Options) *process.Server {
	t.Helper()
	options.Args = slices.Concat(process.CheckCache, process.CustomResourcesOnly, options.Args)
	ctx, cancel := context.WithTimeout(t.Context(), startPatience)
	defer cancel()
	server, err := process.Start(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Kill()
		if err := server.CacheError(); err != nil {
			t.Errorf("%v\n%s", err, server.Output())
		}
	})
	return server
}

// killWhileWriting kills the server while the writers write.
func killWhileWriting(t *testing.T, server *process.Server, writers []*writer, random *rand.Rand) {
	t.Helper()
	var writing sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, w := range writers {
		c := newClient(t, server)
		writing.Go(func() {
			for ctx.Err() == nil && w.write(ctx, c) {
			}
			c.http.CloseIdleConnections()
		})
	}
	pause(ctx, time.Duration(20+random.IntN(size(600, 1500)))*time.Millisecond)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	cancel()
	writing.Wait()
	for _, w := range writers {
		if w.err != nil {
			t.Fatal(w.err)
		}
	}
}

// writer writes its own objects, one request at a time, and keeps the responses.
type writer struct {
	number int
	random *rand.Rand
	slots  []slot
	// doubtful is the slot of a request without a response, or nil. want is its state if the server did the request.
	doubtful *slot
	want     slot
	// writes counts all requests, so that every value differs.
	writes, acknowledged, unknown int
	// err is an impossible response.
	err error
}

// slot is an object as its writer knows it. The revision is 0 if it is not known.
type slot struct {
	exists   bool
	value    string
	revision int64
}

// newWriters returns writers that have written nothing.
func newWriters(t *testing.T, number int) []*writer {
	all := make([]*writer, number)
	for i := range all {
		all[i] = &writer{number: i, random: choices(t, i+1), slots: make([]slot, killSlots)}
	}
	return all
}

func (w *writer) name(number int) string { return fmt.Sprintf("cell-%d-%d", w.number, number) }

// write does one write. It returns false if the server has not answered.
func (w *writer) write(ctx context.Context, c *client) bool {
	number := w.random.IntN(len(w.slots))
	s, path := &w.slots[number], cells+"/"+w.name(number)
	w.writes++
	w.want = slot{exists: true, value: fmt.Sprintf("%d-%d", w.number, w.writes)}
	var (
		code   int
		answer []byte
		err    error
	)
	expected := http.StatusOK
	switch action := w.random.IntN(4); {
	case !s.exists:
		expected = http.StatusCreated
		code, answer, err = c.do(ctx, http.MethodPost, cells, asJSON, body(w.name(number), w.want.value, 0))
	case action == 0:
		w.want = slot{}
		code, answer, err = c.do(ctx, http.MethodDelete, path, "", nil)
	case action == 1:
		code, answer, err = c.do(ctx, http.MethodPut, path, asJSON, body(w.name(number), w.want.value, s.revision))
	default:
		code, answer, err = c.do(ctx, http.MethodPatch, path, asMergePatch,
			fmt.Appendf(nil, `{"spec":{"value":"%s"}}`, w.want.value))
	}
	switch {
	case err != nil || code >= 500:
		w.doubtful = s
		w.unknown++
		return false
	case code != expected:
		w.err = fmt.Errorf("%s: status %d, not %d: %.300s", path, code, expected, answer)
		return false
	}
	w.acknowledged++
	if w.want.exists {
		w.want.revision, w.err = revisionOf(answer, w.want.value)
	}
	*s = w.want
	return w.err == nil
}

// revisionOf returns the revision of the object in the response to a write.
func revisionOf(answer []byte, value string) (int64, error) {
	var o object
	if err := json.Unmarshal(answer, &o); err != nil {
		return 0, fmt.Errorf("an answer is no object: %w: %.300s", err, answer)
	}
	if o.Spec.Value != value || o.revision() <= 0 {
		return 0, fmt.Errorf("a write of %s was answered with another object: %.300s", value, answer)
	}
	return o.revision(), nil
}

// counted returns how many writes were acknowledged, and how many not.
func counted(writers []*writer) (acknowledged, unknown int) {
	for _, w := range writers {
		acknowledged, unknown = acknowledged+w.acknowledged, unknown+w.unknown
	}
	return acknowledged, unknown
}

// checkWriters compares the objects with what the writers know, and updates what they do not know.
func checkWriters(t *testing.T, c *client, writers []*writer) {
	t.Helper()
	items, newest, code, err := c.list(t.Context())
	if err != nil || code != http.StatusOK {
		t.Fatalf("list: %d %v", code, err)
	}
	for _, w := range writers {
		for number := range w.slots {
			s := &w.slots[number]
			item, exists := items[w.name(number)]
			delete(items, w.name(number))
			found := slot{exists: exists, value: item.Spec.Value}
			if exists {
				found.revision = item.revision()
			}
			if doubtful := w.doubtful == s; found != *s {
				w.want.revision = found.revision // no client knows it
				if !doubtful || found != w.want {
					t.Errorf("%s is %+v; acknowledged was %+v; under way was %+v: %t", w.name(number), found, *s,
						w.want, doubtful)
				}
			}
			if found.revision > newest {
				t.Errorf("%s has revision %d in a list of %d", w.name(number), found.revision, newest)
			}
			*s = found
		}
		w.doubtful = nil
	}
	for name := range items {
		t.Errorf("no client has created %s", name)
	}
}
