package fault

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
)

const (
	overloadReads  = 40 // --max-requests-inflight
	overloadWrites = 20 // --max-mutating-requests-inflight
	overloadLimit  = 5 * time.Second
	// overloadObjects is the number of objects, of 1 KiB each, in a list.
	overloadObjects = 1000
	// background is the priority of overloading clients: the scenario tests accepted requests, not
	// the competition for processors.
	background = 10
	// everybody is the flag that authorizes all users.
	everybody = "--authorization-mode=AlwaysAllow"
)

// memoryLimit bounds the memory of the server: 150 MiB for itself, three times the bodies in flight (received,
// decoded, encoded), and a share for each connection and watch.
func memoryLimit(connections int) int64 {
	const mega = 1 << 20
	return 150*mega + overloadWrites*3*3*mega + overloadReads*4*mega + int64(connections)*96<<10
}

// TestOverload sends ten times as many requests as the server handles at once, of several kinds. The server must stay
// healthy, bound its memory, refuse the rest with 429, and serve other users. Clients are processes: the overloading
// ones have a low priority, the measuring one a normal priority.
func TestOverload(t *testing.T) {
	besideOthers(t)
	defer written.outcome(t, time.Now())
	needFiles(t, size[uint64](2000, 12000))
	server := startServer(t, process.Options{Binary: programs.Server(), DataDir: filepath.Join(t.TempDir(), "data"),
		Args: []string{everybody,
			"--max-requests-inflight", strconv.Itoa(overloadReads), "--max-mutating-requests-inflight",
			strconv.Itoa(overloadWrites),
			"--request-timeout", overloadLimit.String()}})
	c := newClient(t, server)
	c.must(t, http.StatusCreated, http.MethodPost, definitions, asJSON, []byte(definition))
	for n := range overloadObjects {
		c.must(t, http.StatusCreated, http.MethodPost, cells, asJSON,
			body(fmt.Sprintf("cell-%04d", n), strings.Repeat("x", 1000), 0))
	}
	while := size(4, 30)
	for _, w := range []task{
		{Kind: "lists", Number: 10 * overloadReads, Seconds: while},
		{Kind: "bodies", Number: 10 * overloadWrites, Seconds: while},
		{Kind: "drips", Number: overloadWrites, Seconds: size(60, 10)}, // their time is overloadLimit
		{Kind: "slow readers", Number: size(300, 5000)},
		{Kind: "watches", Number: size(1000, 10000), Changes: size(40, 100)},
	} {
		t.Run(w.Kind, func(t *testing.T) { overload(t, server, w) })
	}
}

// overload runs a task while it probes the server.
func overload(t *testing.T, server *process.Server, w task) {
	overloadWithin(t, server, w, memoryLimit(w.Number))
}

// overloadWithin is overload with another limit of the server's memory, in bytes.
func overloadWithin(t *testing.T, server *process.Server, w task, limit int64) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	memory := &peak{pid: server.Pid()}
	var watching sync.WaitGroup
	watching.Go(func() { memory.watch(ctx) })
	began := time.Now()
	prober := startChild(t, server, 0, task{Kind: "probe"})
	var (
		l loaded
		p probes
	)
	if err := startChild(t, server, background, w).wait(&l); err != nil {
		t.Error(err)
	}
	if err := prober.end(&p); err != nil {
		t.Error(err)
	}
	took := time.Since(began).Round(time.Second)
	cancel()
	watching.Wait()
	for _, fault := range l.Faults {
		t.Error(fault)
	}
	// On a busy machine the server may miss its own deadline and answer 504. The full form needs the machine for
	// itself.
	failed := func(a answers) bool { return a.Unanswered > 0 || a.Failed > 0 && *full }
	if p.Health.Asked == 0 || failed(p.Health) || p.Health.Refused > 0 {
		t.Errorf("health: %v", p.Health)
	}
	for _, asked := range []answers{p.Reads, p.Writes} {
		if asked.Asked == 0 || failed(asked) || asked.Refused > 0 {
			t.Errorf("another user: %v", asked)
		}
	}
	if memory.bytes > limit && !raceDetector() {
		t.Errorf("%d MiB of memory, more than %d", memory.bytes>>20, limit>>20)
	}
	if l.Unhinted > 0 {
		t.Errorf("%d answers with 429 do not say when to try again", l.Unhinted)
	}
	written.add(t,
		"%d at a time, %s: %d served, %d refused with 429, %d other; health: %v; another user's reads: %v; writes: %v; at "+
			"most %d MiB of memory (limit %d)",
		w.Number, took, l.Served, l.Refused, l.Other, p.Health, p.Reads, p.Writes, memory.bytes>>20, limit>>20)
}

// needFiles raises the limit of open files of this process and its children.
func needFiles(t *testing.T, number uint64) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur, limit.Max = max(limit.Cur, number), max(limit.Max, number)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatalf("%d files cannot be open (ulimit -n): %v", number, err)
	}
}

// peak is the maximal memory of a process.
type peak struct {
	pid   int
	bytes int64
}

func (p *peak) watch(ctx context.Context) {
	for ; ctx.Err() == nil; pause(ctx, 50*time.Millisecond) {
		p.bytes = max(p.bytes, resident(p.pid))
	}
}

// resident returns the resident memory of a process.
func resident(pid int) int64 {
	fields, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	pages := strings.Fields(string(fields))
	if len(pages) < 2 {
		return 0
	}
	n, _ := strconv.ParseInt(pages[1], 10, 64)
	return n * int64(os.Getpagesize())
}
