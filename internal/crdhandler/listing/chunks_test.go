package listing

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

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/wire"
)

// shelf holds objects in the order of their keys, as one version serves them.
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
	return slices.BinarySearchFunc(s.entries, key, func(e *dynamicstorage.Entry,
		key string) int {
		return strings.Compare(e.Key, key)
	})
}

// put stores an object of about size bytes.
func (s *shelf) put(key string, size int) {
	s.revision++
	head := `{"metadata":{`
	text := strings.Repeat(fmt.Sprintf("text %d of %s ", s.revision, key), size/12+1)[:size]
	json := fmt.Appendf(nil, `%s"uid":"%d"},"spec":%q}`, head, s.revision, text)
	entry := &dynamicstorage.Entry{Key: key, Revision: s.revision}
	s.views[entry] = &dynamicstorage.View{Bytes: json, At: len(head)}
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

// page returns up to limit objects that are selected, beginning with from.
func (s *shelf) page(from, limit int, selected func(n int) bool) *Page {
	p := &Page{Revision: s.revision}
	for n := from; n < len(s.entries); n++ {
		if !selected(n) {
			continue
		}
		if len(p.Entries) == limit {
			p.Continue = "more"
			break
		}
		p.Entries = append(p.Entries, s.entries[n])
		p.Views = append(p.Views, s.views[s.entries[n]])
	}
	return p
}

func every(int) bool { return true }

func (s *shelf) all() *Page { return s.page(0, len(s.entries), every) }

// gadgets is the list of the tests.
var gadgets = wire.List{APIVersion: "example.com/v1", Kind: "GadgetList", ItemKind: "Gadget"}

// send returns a page as a client with this Accept-Encoding receives it.
func send(t testing.TB, chunks *Chunks, p *Page, encoding string) (body []byte, compressed bool) {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	if err := p.Write(w, req, gadgets, chunks); err != nil {
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

// sameCompressed compares a page with and without compression.
func sameCompressed(t testing.TB, chunks *Chunks, p *Page) {
	t.Helper()
	plain, _ := send(t, chunks, p, "")
	got, compressed := send(t, chunks, p, "gzip")
	if !bytes.Equal(got, plain) {
		t.Fatalf("%d objects: %d bytes, want %d", len(p.Entries), len(got), len(plain))
	}
	if compressed != (len(plain) > wire.GzipThreshold) {
		t.Fatalf("%d bytes, compressed: %t", len(plain), compressed)
	}
}

// kept returns the chunks, by identity.
func (c *Chunks) kept() map[*chunk]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[*chunk]bool{}
	for _, kept := range c.byFirst {
		all[kept] = true
	}
	return all
}

// TestChangeCompressesOneChunk checks that few chunks are compressed again after a change. It allows two, because a
// change may move a boundary.
func TestChangeCompressesOneChunk(t *testing.T) {
	t.Parallel()
	s, chunks := newShelf(1000, 2000), &Chunks{}
	sameCompressed(t, chunks, s.all())
	before := chunks.kept()
	if len(before) < 10 || len(before) > 100 {
		t.Errorf("%d chunks of 2 MB", len(before))
	}
	for name, change := range map[string]func(){
		"update": func() { s.put("ns/g00500", 2000) },
		"insert": func() { s.put("ns/g00200x", 2000) },
		"delete": func() { s.remove("ns/g00700") },
		"first":  func() { s.remove("ns/g00000") },
		"append": func() { s.put("ns/z", 2000) },
	} {
		change()
		sameCompressed(t, chunks, s.all())
		again := 0
		now := chunks.kept()
		for c := range now {
			if !before[c] {
				again++
			}
		}
		if again > 2 {
			t.Errorf("%s: %d chunks made again", name, again)
		}
		before = now
	}
}

// TestPagesAndSelections lists parts of the objects while chunks of other lists are kept.
func TestPagesAndSelections(t *testing.T) {
	t.Parallel()
	s, chunks := newShelf(600, 2000), &Chunks{}
	for range 2 {
		for _, limit := range []int{70, 250, 600} {
			for from := 0; from < len(s.entries); from += limit {
				sameCompressed(t, chunks, s.page(from, limit, every))
			}
		}
		for _, nth := range []int{2, 7} {
			sameCompressed(t, chunks, s.page(0, len(s.entries), func(n int) bool { return n%nth == 0 }))
		}
	}
}

func TestChunksOfLargeObjects(t *testing.T) {
	t.Parallel()
	s, chunks := newShelf(5, 200<<10), &Chunks{}
	sameCompressed(t, chunks, s.all())
	if n := len(chunks.kept()); n != 5 {
		t.Errorf("%d chunks", n)
	}
}

// TestChunksKeepNothingAlive checks that chunks of replaced objects are dropped.
func TestChunksKeepNothingAlive(t *testing.T) {
	s, chunks := newShelf(300, 2000), &Chunks{}
	sameCompressed(t, chunks, s.all())
	if len(chunks.kept()) == 0 || chunks.size == 0 {
		t.Fatal("nothing is kept")
	}
	s.entries, s.views = nil, nil
	deadline := time.Now().Add(20 * time.Second)
	for len(chunks.kept()) > 0 {
		if time.Now().After(deadline) {
			t.Fatalf("%d chunks are still kept", len(chunks.kept()))
		}
		runtime.GC()
		runtime.Gosched()
	}
	if chunks.size != 0 {
		t.Errorf("%d bytes are still counted", chunks.size)
	}
}

func TestChunksBudget(t *testing.T) {
	t.Parallel()
	s, chunks := newShelf(500, 2000), &Chunks{}
	sameCompressed(t, chunks, s.all())
	whole := chunks.size
	chunks.budget = whole / 2
	for n := range 10 {
		s.put(fmt.Sprintf("ns/g%05d", n*50), 2000)
		sameCompressed(t, chunks, s.all())
		if chunks.size > chunks.budget || chunks.size == 0 {
			t.Fatalf("%d bytes are kept, of %d", chunks.size, chunks.budget)
		}
	}
	sum := 0
	for c := range chunks.kept() {
		sum += c.charged
	}
	if sum != chunks.size {
		t.Errorf("%d bytes counted, %d kept", chunks.size, sum)
	}
}

// TestConcurrentListsCompressOnce checks that one of many concurrent lists compresses a chunk.
func TestConcurrentListsCompressOnce(t *testing.T) {
	t.Parallel()
	s, chunks := newShelf(300, 2000), &Chunks{}
	all := s.all()
	first := chunks.add(all.Entries[:10])
	var made int
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			same := chunks.add(all.Entries[:10])
			chunks.compressed(all.Entries[0].Key, same, func() wire.Deflated {
				made++
				return wire.Deflate([]byte("text"))
			})
			if same != first {
				t.Error("another chunk of the same objects")
			}
		})
	}
	wait.Wait()
	if made != 1 {
		t.Errorf("compressed %d times", made)
	}
}

// stuck is the response to a client that does not read.
type stuck struct {
	header        http.Header
	reached, done chan struct{}
}

func (s *stuck) Header() http.Header { return s.header }
func (s *stuck) WriteHeader(int)     {}

func (s *stuck) Write(p []byte) (int, error) {
	s.reached <- struct{}{}
	<-s.done
	return 0, io.ErrClosedPipe
}

// TestSlowReadersHoldLittle checks that a list in progress uses the memory of one buffer and its page, for a response
// of any length.
func TestSlowReadersHoldLittle(t *testing.T) {
	const readers, most = 50, 100 << 10
	s, chunks := newShelf(2000, 2000), &Chunks{}
	sameCompressed(t, chunks, s.all())
	for _, encoding := range []string{"", "gzip"} {
		before := heap()
		reached, done := make(chan struct{}), make(chan struct{})
		var sending sync.WaitGroup
		for range readers {
			sending.Go(func() {
				req := httptest.NewRequest(http.MethodGet, "/", nil)
				req.Header.Set("Accept-Encoding", encoding)
				w := &stuck{header: http.Header{}, reached: reached, done: done}
				if err := s.all().Write(w, req, gadgets, chunks); err == nil {
					t.Error("sent to a client that has disconnected")
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

// heap returns the bytes of live objects on the heap.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // pools keep objects for one more collection
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// FuzzChunks changes objects and lists parts of them as its input says, and compares compressed with plain lists.
func FuzzChunks(f *testing.F) {
	f.Add(uint64(1), []byte{0, 1, 2, 3, 4, 5, 200, 130, 77})
	f.Add(uint64(2), []byte("changes and lists by turns, and some more of them"))
	f.Fuzz(func(t *testing.T, seed uint64, steps []byte) {
		random := rand.New(rand.NewPCG(seed, 0))
		s, chunks := newShelf(120, 3000), &Chunks{}
		chunks.budget = 1 + random.IntN(100<<10)
		for _, step := range steps[:min(len(steps), 100)] {
			key := fmt.Sprintf("ns/g%05d%.*s", random.IntN(120), int(step)/128, "x")
			switch step % 5 {
			case 0, 1:
				s.put(key, random.IntN(20_000))
			case 2:
				s.remove(key)
			case 3:
				sameCompressed(t, chunks, s.all())
			case 4:
				nth := 1 + random.IntN(3)
				sameCompressed(t, chunks, s.page(random.IntN(120), 1+random.IntN(120),
					func(n int) bool { return n%nth == 0 }))
			}
		}
		sameCompressed(t, chunks, s.all())
	})
}
