package fault

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/etcd/cluster"
	"github.com/crd-server/crd-server/test/fault/hostile"
	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
)

// victim is a server that gets hostile inputs.
type victim struct {
	server *process.Server
	// user sends the inputs; "" is the administrator.
	user    string
	clients []*client
	memory  *usage
	// version is the resourceVersion that the server has returned last.
	version string
}

// startVictim starts a server with an etcd of its own, whose memory does not count.
func startVictim(t *testing.T, binary, user string, args ...string) *victim {
	t.Helper()
	etcd := cluster.Start(t, 1).Members[0]
	ctx, cancel := context.WithTimeout(t.Context(), startPatience)
	defer cancel()
	if binary == programs.Server() {
		args = slices.Concat(process.CustomResourcesOnly, args)
	}
	server, err := process.Start(ctx, process.Options{Binary: binary, DataDir: filepath.Join(t.TempDir(), "server"),
		Args: append([]string{"--etcd-servers", etcd.URL}, args...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Kill() })
	return newVictim(t, server, user)
}

// newVictim watches the memory of a server until the test ends.
func newVictim(t *testing.T, server *process.Server, user string) *victim {
	t.Helper()
	v := &victim{server: server, user: user, clients: []*client{newClient(t, server)}, memory: &usage{server: server}}
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	v.memory.idle = anonymous(server.Pid())
	watching.Go(func() { v.memory.watch(ctx) })
	t.Cleanup(func() { cancel(); watching.Wait() })
	return v
}

// ended returns whether the process has ended.
func (v *victim) ended() bool {
	select {
	case <-v.server.Done():
		return true
	default:
		return false
	}
}

// accepts returns whether the server does what the first phase of a case asks for. It sends the last one too, which
// deletes what was created.
func (v *victim) accepts(t *testing.T, c hostile.Case) bool {
	t.Helper()
	input := generate(t, c)
	if len(input.Phases) == 1 {
		return true // a load
	}
	input.Phases[0].Essential = true
	input.Phases = []hostile.Phase{input.Phases[0], input.Phases[len(input.Phases)-1]}
	return v.prepare(t, input) && len(v.send(t.Context(), t, input).answers) == 2
}

// crew returns that many clients, each with its own connection.
func (v *victim) crew(t *testing.T, size int) []*client {
	t.Helper()
	for len(v.clients) < size {
		v.clients = append(v.clients, newClient(t, v.server))
	}
	return v.clients[:size]
}

// settle waits until the server uses no processor, and returns what it has used until then. It gives up after five
// seconds, when the server has used far more than it may.
func (v *victim) settle(ctx context.Context) time.Duration {
	const window, quiet, limit = 300 * time.Millisecond, 60 * time.Millisecond, 5 * time.Second
	began, before := time.Now(), v.processor()
	for last := before; time.Since(began) < limit && !v.ended(); {
		pause(ctx, window)
		now := v.processor()
		if now-last <= quiet {
			return last - before
		}
		last = now
	}
	return v.processor() - before
}

// processor returns the processor time that the server has used so far.
func (v *victim) processor() time.Duration { return time.Duration(v.memory.processor.Load()) }

// allocated returns the number of bytes that the server has allocated so far, 0 if it does not answer.
func (v *victim) allocated(t *testing.T) float64 {
	t.Helper()
	_, content, err := v.clients[0].do(t.Context(), http.MethodGet, "/metrics", "", nil)
	if err != nil {
		return 0
	}
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), "go_memstats_alloc_bytes_total "); found {
			number, _ := strconv.ParseFloat(value, 64)
			return number
		}
	}
	return 0
}

// usage is the anonymous memory of a server: its heap and stacks, and not the pages of its file.
type usage struct {
	server *process.Server
	// idle is the memory before any input.
	idle int64
	// peak is the largest sample.
	peak atomic.Int64
	// processor is the processor time in nanoseconds, also after the process has ended.
	processor atomic.Int64
	// killed is set when the server was killed at memoryCap.
	killed atomic.Bool
}

// watch samples the memory until the context ends.
func (u *usage) watch(ctx context.Context) {
	for ; ctx.Err() == nil; pause(ctx, 5*time.Millisecond) {
		now := anonymous(u.server.Pid())
		u.peak.Store(max(u.peak.Load(), now))
		u.processor.Store(max(u.processor.Load(), int64(processorTime(u.server.Pid()))))
		if now > memoryCap && !u.killed.Swap(true) {
			_ = u.server.Kill() // it is gone in any case
		}
	}
}

// above returns how much more memory than idle the server has taken at most.
func (u *usage) above() int64 { return max(0, u.peak.Load()-u.idle) }

// anonymous returns the anonymous memory of a process, 0 if it has ended.
func anonymous(pid int) int64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(status), "RssAnon:")
	kib, _ := strconv.ParseInt(strings.TrimSpace(strings.SplitN(rest, "kB", 2)[0]), 10, 64)
	return kib << 10
}

// processorTime returns the user and system time that a process has used, 0 if it has ended.
func processorTime(pid int) time.Duration {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// The second field is the program's name in parentheses. The unit is 1/100 s.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const user, system = 11, 12 // counted from the third field
	if len(fields) <= system {
		return 0
	}
	var ticks time.Duration
	for _, field := range []string{fields[user], fields[system]} {
		n, _ := strconv.ParseInt(field, 10, 64)
		ticks += time.Duration(n)
	}
	return ticks * 10 * time.Millisecond
}

// measureAlone sends an input. If leaving is set, it sends the input again up to its slowest phase, in which the
// clients leave. It ends the server.
func measureAlone(t *testing.T, input *hostile.Input, v *victim, leaving bool) *cost {
	t.Helper()
	if !v.prepare(t, input) {
		t.Errorf("%s: the preparation has failed", v.server.URL)
	}
	v.settle(t.Context())
	v.memory.idle = anonymous(v.server.Pid())
	prober := startChild(t, v.server, 0, task{Kind: "health"})
	v.memory.peak.Store(0)
	got := v.send(t.Context(), t, input)
	got.after = v.settle(t.Context())
	if leaving && got.slowest > 200*time.Millisecond && got.unanswered == "" {
		got.after = max(got.after, v.leave(t, input, got))
	}
	if err := prober.end(&got.health); err != nil && !v.ended() {
		t.Error(err)
	}
	got.memory, got.killed, got.ended = v.memory.above(), v.memory.killed.Load(), v.ended()
	_ = v.server.Kill() // its memory is for the next one
	return got
}

// leave repeats an input up to its slowest phase, makes the clients leave in the middle of that, and returns the
// processor time that the server uses afterwards.
func (v *victim) leave(t *testing.T, input *hostile.Input, got *cost) time.Duration {
	t.Helper()
	again := *input
	for n, p := range input.Phases {
		if p.Name == got.slowestPhase {
			again.Phases = input.Phases[:n]
			v.send(t.Context(), t, &again)
			ctx, cancel := context.WithTimeout(t.Context(), min(got.slowest/2, time.Second))
			defer cancel()
			again.Phases = input.Phases[n : n+1]
			v.send(ctx, t, &again)
			break
		}
	}
	return v.settle(t.Context())
}
