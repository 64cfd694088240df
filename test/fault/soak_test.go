package fault

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	soakClients = 8
	soakChurns  = 2
	soakKeys    = 300
	// soakNames is the number of CRD names of each churning client: as upstream, the server keeps request metrics by
	// resource forever.
	soakNames = 5
	soakTime  = 30 * time.Minute
	// quarters is how often the load pauses for a measurement.
	quarters = 4
)

// TestSoak loads a server with all kinds of requests while CRDs are created and deleted, and checks that its heap,
// goroutines, open files and etcd do not grow. It takes half an hour and runs with -full only.
func TestSoak(t *testing.T) {
	if !*full {
		t.Skip("without -full")
	}
	f := newTrouble(t)
	f.options.Args = []string{"--etcd-servers", f.member.URL, "--etcd-compaction-interval", "5s"}
	f.restart()
	s := &soak{trouble: f}
	var held []holding
	for quarter := range quarters {
		s.load(quarter, soakTime/quarters)
		held = append(held, s.measure())
		written.add(t, "after quarter %d: %s", quarter+1, held[quarter])
	}
	written.add(t, "%d requests, %d CRDs created and deleted", s.requests.Load(), s.churned.Load())
	// The first quarter fills caches and pools.
	if grown := held[quarters-1].grownFrom(held[1]); len(grown) > 0 {
		t.Errorf("grown: %s", strings.Join(grown, ", "))
	}
}

// soak is a server under a load that changes nothing in the long run.
type soak struct {
	*trouble
	requests, churned atomic.Int64
	// clients are those of the last load.
	clients []*client
}

// load lets all clients work for a while.
func (s *soak) load(quarter int, d time.Duration) {
	ctx, cancel := context.WithTimeout(s.t.Context(), d)
	defer cancel()
	var working sync.WaitGroup
	s.clients = nil
	for n := range soakClients + soakChurns {
		c, err := connect(s.server)
		if err != nil {
			s.t.Fatal(err)
		}
		s.clients = append(s.clients, c)
		random := choices(s.t, quarter*100+n)
		working.Go(func() {
			for round := 0; ctx.Err() == nil; round++ {
				if n < soakClients {
					s.use(ctx, c, random)
				} else {
					s.churn(s.t.Context(), c, fmt.Sprintf("churn%dx%d", n, round%soakNames))
				}
			}
		})
	}
	working.Wait()
}

// request sends a request and returns the status. Unexpected responses fail the test.
func (s *soak) request(ctx context.Context, c *client, method, path, mediaType string, body []byte) int {
	code, answer, err := c.do(ctx, method, path, mediaType, body)
	s.requests.Add(1)
	if ctx.Err() == nil && (err != nil || code >= 400 && code != http.StatusNotFound && code != http.StatusConflict) {
		s.t.Errorf("%s %s: %d %v %.300s", method, path, code, err, answer)
	}
	return code
}

// use does one random operation on an object.
func (s *soak) use(ctx context.Context, c *client, random *rand.Rand) {
	name := fmt.Sprintf("cell-%d", random.IntN(soakKeys))
	value := strings.Repeat(strconv.Itoa(random.IntN(10)), 500)
	switch random.IntN(8) {
	case 0, 1:
		s.request(ctx, c, http.MethodPost, cells, asJSON, body(name, value, 0))
	case 2:
		s.request(ctx, c, http.MethodPatch, cells+"/"+name, asMergePatch,
			fmt.Appendf(nil, `{"spec":{"value":%q}}`, value))
	case 3:
		s.request(ctx, c, http.MethodPatch, cells+"/"+name+"?fieldManager=soak&force=true", asApply,
			body(name, value, 0))
	case 4:
		s.request(ctx, c, http.MethodDelete, cells+"/"+name, "", nil)
	case 5:
		s.request(ctx, c, http.MethodGet, cells+"?limit=100", "", nil)
	case 6:
		s.request(ctx, c, http.MethodGet, cells+"/"+name, "", nil)
	default:
		watching, cancel := context.WithTimeout(ctx, time.Duration(random.IntN(500))*time.Millisecond)
		defer cancel()
		s.requests.Add(1)
		if resp, err := c.open(watching, http.MethodGet, cells+"?watch=1", "", nil); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
}

// churn creates a CRD, uses it and deletes it.
func (s *soak) churn(ctx context.Context, c *client, name string) {
	replaced := strings.NewReplacer(`"`+plural+".", `"`+name+".", `"cells"`, strconv.Quote(name), `"cell"`,
		strconv.Quote(name+"one"), `"Cell"`, strconv.Quote("K"+name), `"CellList"`, strconv.Quote("K"+name+"List"))
	at := strings.Replace(cells, plural, name, 1)
	s.request(ctx, c, http.MethodPost, definitions, asJSON, []byte(replaced.Replace(definition)))
	for n := range 3 {
		s.request(ctx, c, http.MethodPost, at, asJSON,
			[]byte(replaced.Replace(string(body(fmt.Sprintf("object-%d", n), "x", 0)))))
	}
	s.request(ctx, c, http.MethodGet, at, "", nil)
	s.request(ctx, c, http.MethodGet, "/openapi/v3/apis/"+group+"/v1", "", nil)
	crd := definitions + "/" + name + "." + group
	s.request(ctx, c, http.MethodDelete, crd, "", nil)
	for s.request(ctx, c, http.MethodGet, crd, "", nil) == http.StatusOK && ctx.Err() == nil {
		pause(ctx, 20*time.Millisecond)
	}
	s.churned.Add(1)
}

// holding is the resources that a server uses.
type holding struct{ heap, goroutines, files, etcd float64 }

func (h holding) String() string {
	return fmt.Sprintf("heap %.1f MiB, %.0f goroutines, %.0f files, etcd %.1f MiB", h.heap/(1<<20), h.goroutines,
		h.files, h.etcd/(1<<20))
}

// grownFrom names what has grown by more than the noise of measurements.
func (h holding) grownFrom(before holding) (grown []string) {
	for _, of := range []struct {
		name              string
		before, now, much float64
	}{
		{"heap", before.heap, h.heap, before.heap*0.2 + 4<<20},
		{"goroutines", before.goroutines, h.goroutines, 30},
		{"files", before.files, h.files, 10},
		{"etcd", before.etcd, h.etcd, before.etcd*0.3 + 2<<20},
	} {
		if of.now > of.before+of.much {
			grown = append(grown, fmt.Sprintf("%s from %.0f to %.0f", of.name, of.before, of.now))
		}
	}
	return grown
}

// measure returns the minimum of several measurements after the load.
func (s *soak) measure() holding {
	s.t.Helper()
	least := s.look()
	for range 10 {
		for _, c := range s.clients {
			c.http.CloseIdleConnections() // a connection is idle some time after its last request has ended
		}
		pause(s.t.Context(), 2*time.Second) // etcd is compacted meanwhile
		now := s.look()
		least = holding{min(least.heap, now.heap), min(least.goroutines, now.goroutines), min(least.files, now.files),
			min(least.etcd, now.etcd)}
	}
	return least
}

func (s *soak) look() holding {
	s.t.Helper()
	s.must(s.t, http.StatusOK, http.MethodGet, "/debug/pprof/heap?gc=1", "", nil)
	values := map[string]float64{}
	lines := bufio.NewScanner(strings.NewReader(string(s.must(s.t, http.StatusOK, http.MethodGet, "/metrics", "",
		nil))))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		values[name], _ = strconv.ParseFloat(value, 64)
	}
	status, err := s.etcd.Status(s.t.Context(), s.member.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	return holding{heap: values["go_memstats_heap_alloc_bytes"], goroutines: values["go_goroutines"],
		files: values["process_open_fds"], etcd: float64(status.DbSizeInUse)}
}
