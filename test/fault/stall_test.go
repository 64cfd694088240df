package fault

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/etcd/cluster"
	"github.com/crd-server/crd-server/test/process"
)

const (
	// slowRequest is when a request makes one look at what the server is doing.
	slowRequest = 3 * time.Second
	// looks is how many looks are kept of a scenario.
	looks = 10
)

// stalls notes requests that take long, and keeps beside the report what the server and its etcd were doing meanwhile: whether they had
// processors, what all goroutines waited for, how long the disk took.
type stalls struct {
	t      *testing.T
	server *process.Server
	member *cluster.Member

	mu sync.Mutex // guards the fields below
	// slow counts requests that were not done after slowRequest.
	slow    int
	slowest time.Duration
}

// watch notes how long a request takes, until end is called. That tells whether the processors were not there for a request that
// took long.
func (s *stalls) watch(method, path string) (end func() (starved bool)) {
	var starved atomic.Bool
	began := time.Now()
	timer := time.AfterFunc(slowRequest, func() { s.look(method, path, &starved) })
	return func() bool {
		timer.Stop()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.slowest = max(s.slowest, time.Since(began))
		return starved.Load()
	}
}

// look finds out whether the server and its etcd have processors, and keeps what is going on.
func (s *stalls) look(method, path string, starved *atomic.Bool) {
	s.mu.Lock()
	s.slow++
	number := s.slow
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	server, member := process.EffortOf(s.server.Pid()), process.EffortOf(s.member.Pid())
	pause(ctx, time.Second)
	server, member = process.EffortOf(s.server.Pid()).Since(server), process.EffortOf(s.member.Pid()).Since(member)
	starved.Store(server.Starved() || member.Starved())
	if number > looks {
		return
	}
	var told strings.Builder
	fmt.Fprintf(&told, "%s: %s %s has no answer after %s\n", time.Now().UTC().Format(time.RFC3339), method, path, slowRequest)
	fmt.Fprintf(&told, "in the next second the server had %v, etcd %v\n", server, member)
	if c, err := connect(s.server); err == nil {
		for _, page := range []string{"/readyz?verbose", "/debug/pprof/goroutine?debug=1"} {
			code, content, err := c.do(ctx, http.MethodGet, page, "", nil)
			fmt.Fprintf(&told, "\n%s: %d %v\n%s", page, code, err, content)
		}
		c.http.CloseIdleConnections()
	}
	fmt.Fprintf(&told, "\netcd:\n%s", diskTimes(ctx, s.member))
	name := filepath.Join(filepath.Dir(reportFile), fmt.Sprintf("%s-stall-%d.txt", s.t.Name(), number))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		s.t.Error(err)
	}
	if err := os.WriteFile(name, []byte(told.String()), 0o644); err != nil {
		s.t.Error(err)
	}
}

// diskTimes is how long the disk took so far, as a member tells it.
func diskTimes(ctx context.Context, m *cluster.Member) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.URL+"/metrics", nil)
	if err != nil {
		return err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	var kept []string
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, "etcd_disk_wal_fsync") || strings.HasPrefix(line, "etcd_disk_backend_commit") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func (s *stalls) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%d took longer than %s (see %s-stall-*.txt), the slowest %s", s.slow, slowRequest, s.t.Name(), s.slowest.Round(time.Millisecond))
}
