package crdhandler

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/wire"
)

// shelf is objects in the order of their keys, as one version serves them.
type shelf struct {
	revision int64
	entries  []*dynamicstorage.Entry
	views    map[*dynamicstorage.Entry]*dynamicstorage.View
}

func newShelf(objects, size int) *shelf {
	s := &shelf{views: map[*dynamicstorage.Entry]*dynamicstorage.View{}}
	for n := range objects {
		s.put(fmt.Sprintf("ns/g%05d", n), size)
	}
	return s
}

func (s *shelf) find(key string) (int, bool) {
	return slices.BinarySearchFunc(s.entries, key, func(e *dynamicstorage.Entry, key string) int { return strings.Compare(e.Key, key) })
}

// put stores an object of about size bytes.
func (s *shelf) put(key string, size int) {
	s.revision++
	head := `{"metadata":{`
	text := strings.Repeat(fmt.Sprintf("text %d of %s ", s.revision, key), size/12+1)[:size]
	json := fmt.Appendf(nil, `%s"uid":"%d"},"spec":%q}`, head, s.revision, text)
	entry := &dynamicstorage.Entry{Key: key, Revision: s.revision}
	s.views[entry] = &dynamicstorage.View{JSON: json, At: len(head)}
	at, found := s.find(key)
	if found {
		delete(s.views, s.entries[at])
		s.entries[at] = entry
		return
	}
	s.entries = slices.Insert(s.entries, at, entry)
}

func (s *shelf) remove(key string) {
	if at, found := s.find(key); found {
		delete(s.views, s.entries[at])
		s.entries = slices.Delete(s.entries, at, at+1)
	}
}

// page returns the objects for which selected is true, from one on, limit of them at most.
func (s *shelf) page(from, limit int, selected func(n int) bool) *page {
	p := &page{revision: s.revision}
	for n := from; n < len(s.entries); n++ {
		if !selected(n) {
			continue
		}
		if len(p.entries) == limit {
			p.next = "more"
			break
		}
		p.entries = append(p.entries, s.entries[n])
		p.views = append(p.views, s.views[s.entries[n]])
	}
	return p
}

func every(int) bool { return true }

func (s *shelf) all() *page { return s.page(0, len(s.entries), every) }

func shelfScope() *requestScope {
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}
	return &requestScope{kind: kind, hub: kind.GroupVersion(), listKind: kind.GroupVersion().WithKind("GadgetList"), storage: &storage{}}
}

// send returns a page as a client gets it that accepts gzip or not.
func send(t testing.TB, scope *requestScope, p *page, encoding string) (body []byte, compressed bool) {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	if err := scope.writeList(w, req, false, p); err != nil {
		t.Fatal(err)
	}
	if w.Header().Get("Content-Encoding") != "gzip" {
		return w.Body.Bytes(), false
	}
	r, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	if body, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return body, true
}

// sameCompressed checks that a page is the same with and without compression.
func sameCompressed(t testing.TB, scope *requestScope, p *page) {
	t.Helper()
	plain, _ := send(t, scope, p, "")
	got, compressed := send(t, scope, p, "gzip")
	if !bytes.Equal(got, plain) {
		t.Fatalf("%d objects: %d bytes, want %d", len(p.entries), len(got), len(plain))
	}
	if compressed != (len(plain) > wire.GzipThreshold) {
		t.Fatalf("%d bytes, compressed: %t", len(plain), compressed)
	}
}

// texts returns the runs kept, by identity.
func (r *runs) texts() map[*run]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	texts := map[*run]bool{}
	for _, kept := range r.byFirst {
		texts[kept] = true
	}
	return texts
}

// TestChangesTouchOneRun: what a change makes anew is a run, or two where it moves a boundary.
func TestChangesTouchOneRun(t *testing.T) {
	s, scope := newShelf(1000, 2000), shelfScope()
	sameCompressed(t, scope, s.all())
	kept := scope.storage.runs.texts()
	if len(kept) < 10 || len(kept) > 100 {
		t.Errorf("%d runs of 2 MB", len(kept))
	}
	for name, change := range map[string]func(){
		"update": func() { s.put("ns/g00500", 2000) },
		"insert": func() { s.put("ns/g00200x", 2000) },
		"delete": func() { s.remove("ns/g00700") },
		"first":  func() { s.remove("ns/g00000") },
		"append": func() { s.put("ns/z", 2000) },
	} {
		change()
		sameCompressed(t, scope, s.all())
		anew := 0
		now := scope.storage.runs.texts()
		for r := range now {
			if !kept[r] {
				anew++
			}
		}
		if anew > 2 {
			t.Errorf("%s: %d runs made anew", name, anew)
		}
		kept = now
	}
}

// TestPagesAndSelectionsOfRuns: every part of a list that can be asked for, while runs of others are kept.
func TestPagesAndSelectionsOfRuns(t *testing.T) {
	s, scope := newShelf(600, 2000), shelfScope()
	for range 2 {
		for _, limit := range []int{70, 250, 600} {
			for from := 0; from < len(s.entries); from += limit {
				sameCompressed(t, scope, s.page(from, limit, every))
			}
		}
		for _, nth := range []int{2, 7} {
			sameCompressed(t, scope, s.page(0, len(s.entries), func(n int) bool { return n%nth == 0 }))
		}
	}
}

func TestRunsOfLargeObjects(t *testing.T) {
	s, scope := newShelf(5, 200<<10), shelfScope()
	sameCompressed(t, scope, s.all())
	if n := len(scope.storage.runs.texts()); n != 5 {
		t.Errorf("%d runs", n)
	}
}

// TestRunsKeepNothingAlive: objects that were replaced, or a resource that was released, take no memory here.
func TestRunsKeepNothingAlive(t *testing.T) {
	s, scope := newShelf(300, 2000), shelfScope()
	sameCompressed(t, scope, s.all())
	runs := &scope.storage.runs
	if len(runs.texts()) == 0 || runs.size == 0 {
		t.Fatal("nothing is kept")
	}
	s.entries, s.views = nil, nil
	deadline := time.Now().Add(20 * time.Second)
	for len(runs.texts()) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%d runs are kept still", len(runs.texts()))
		}
		runtime.GC()
		runtime.Gosched()
	}
	if runs.size != 0 {
		t.Errorf("%d bytes are counted still", runs.size)
	}
}

func TestRunsKeepToTheirBudget(t *testing.T) {
	s, scope := newShelf(500, 2000), shelfScope()
	runs := &scope.storage.runs
	sameCompressed(t, scope, s.all())
	whole := runs.size
	scope.storage.runs.budget = whole / 2
	for n := range 10 {
		s.put(fmt.Sprintf("ns/g%05d", n*50), 2000)
		sameCompressed(t, scope, s.all())
		if runs.size > runs.budget || runs.size == 0 {
			t.Fatalf("%d bytes are kept, of %d", runs.size, runs.budget)
		}
	}
	sum := 0
	for r := range runs.texts() {
		sum += r.charged
	}
	if sum != runs.size {
		t.Errorf("%d bytes counted, %d kept", runs.size, sum)
	}
}

// TestListsAtOnceCompressOnce: of many lists that begin at the same time, one compresses.
func TestListsAtOnceCompressOnce(t *testing.T) {
	s, scope := newShelf(300, 2000), shelfScope()
	all := s.all()
	r := scope.storage.runs.keep(all.entries[:10])
	var made int
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			same := scope.storage.runs.keep(all.entries[:10])
			scope.storage.runs.deflated(all.entries[0].Key, same, func() wire.Deflated {
				made++
				return wire.Deflate([]byte("text"))
			})
			if same != r {
				t.Error("another run of the same objects")
			}
		})
	}
	wait.Wait()
	if made != 1 {
		t.Errorf("compressed %d times", made)
	}
}

// stuck is the answer of a client that does not read.
type stuck struct {
	answers
	reached, done chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	s.reached <- struct{}{}
	<-s.done
	return 0, io.ErrClosedPipe
}

// TestSlowReadersHoldLittle: a list that is being sent takes a buffer and what its page is, whatever it has of text.
func TestSlowReadersHoldLittle(t *testing.T) {
	const readers, most = 50, 100 << 10
	s, scope := newShelf(2000, 2000), shelfScope()
	sameCompressed(t, scope, s.all())
	for _, encoding := range []string{"", "gzip"} {
		before := heap()
		reached, done := make(chan struct{}), make(chan struct{})
		var sending sync.WaitGroup
		for range readers {
			sending.Go(func() {
				req := httptest.NewRequest(http.MethodGet, "/", nil)
				req.Header.Set("Accept-Encoding", encoding)
				w := &stuck{answers: answers{header: http.Header{}}, reached: reached, done: done}
				if err := scope.writeList(w, req, false, s.all()); err == nil {
					t.Error("sent to nobody")
				}
			})
		}
		for range readers {
			<-reached
		}
		if held := (heap() - before) / readers; held > most {
			t.Errorf("encoding %q: a list of %d objects holds %d bytes", encoding, len(s.entries), held)
		} else {
			t.Logf("encoding %q: a list of %d objects holds %d bytes", encoding, len(s.entries), held)
		}
		close(done)
		sending.Wait()
	}
}

// heap returns the bytes in use.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // pools keep for one more
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// FuzzRuns changes objects and lists parts of them, as its input says.
func FuzzRuns(f *testing.F) {
	f.Add(uint64(1), []byte{0, 1, 2, 3, 4, 5, 200, 130, 77})
	f.Add(uint64(2), []byte("changes and lists by turns, and some more of them"))
	f.Fuzz(func(t *testing.T, seed uint64, steps []byte) {
		random := rand.New(rand.NewPCG(seed, 0))
		s, scope := newShelf(120, 3000), shelfScope()
		scope.storage.runs.budget = 1 + random.IntN(100<<10)
		for _, step := range steps[:min(len(steps), 100)] {
			key := fmt.Sprintf("ns/g%05d%.*s", random.IntN(120), int(step)/128, "x")
			switch step % 5 {
			case 0, 1:
				s.put(key, random.IntN(20_000))
			case 2:
				s.remove(key)
			case 3:
				sameCompressed(t, scope, s.all())
			case 4:
				nth := 1 + random.IntN(3)
				sameCompressed(t, scope, s.page(random.IntN(120), 1+random.IntN(120), func(n int) bool { return n%nth == 0 }))
			}
		}
		sameCompressed(t, scope, s.all())
	})
}
