package fault

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// members is the size of a cluster: one of them may fail.
const members = 3

// cluster is a cluster of etcd, each member a process.
type cluster struct {
	members [members]*member
	// client knows all members, past every proxy.
	client *clientv3.Client
}

// member is one member of a cluster.
type member struct {
	name, client string
	args         []string
	command      *exec.Cmd
}

// startCluster starts a cluster, which ends with the test.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{}
	var endpoints, peers []string
	for i := range c.members {
		m := &member{name: fmt.Sprintf("m%d", i), client: "http://" + freeAddress(t)}
		peer := "http://" + freeAddress(t)
		m.args = []string{"-data-dir", filepath.Join(t.TempDir(), m.name), "-name", m.name, "-client-url", m.client, "-peer-url", peer}
		c.members[i] = m
		endpoints, peers = append(endpoints, m.client), append(peers, m.name+"="+peer)
	}
	for _, m := range c.members {
		m.args = append(m.args, "-initial-cluster", strings.Join(peers, ","))
	}
	ready := make(chan error, members)
	for _, m := range c.members {
		go func() { ready <- m.start() }()
	}
	for range c.members {
		if err := <-ready; err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, m := range c.members {
			_ = m.kill()
		}
	})
	var err error
	if c.client, err = clientv3.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.client.Close() })
	return c
}

// startMember starts an etcd of one member, which ends with the test.
func startMember(t *testing.T, args ...string) (*member, *clientv3.Client) {
	t.Helper()
	m := &member{name: "alone", client: "http://" + freeAddress(t)}
	m.args = append([]string{"-data-dir", filepath.Join(t.TempDir(), m.name), "-name", m.name, "-client-url", m.client, "-peer-url", "http://" + freeAddress(t)}, args...)
	if err := m.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.kill() })
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{m.client}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = etcd.Close() })
	return m, etcd
}

// start starts the member and returns when it serves.
func (m *member) start() error {
	m.command = exec.Command(etcdBinary, m.args...)
	m.command.Stderr = os.Stderr
	m.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	output, err := m.command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := m.command.Start(); err != nil {
		return err
	}
	if _, err := bufio.NewReader(output).ReadString('\n'); err != nil {
		return fmt.Errorf("etcd member %s ended before it served: %w", m.name, err)
	}
	return nil
}

func (m *member) signal(signal syscall.Signal) error {
	if err := m.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// kill ends the member at once, even when it is stopped, and waits for its end.
func (m *member) kill() error {
	err := m.signal(syscall.SIGKILL)
	_ = m.command.Wait() // killed: it always fails
	return err
}

// stopFor stops the process for a while; it notices nothing of it.
func (m *member) stopFor(ctx context.Context, d time.Duration) error {
	if err := m.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	pause(ctx, d)
	return m.signal(syscall.SIGCONT)
}

// leader returns the index of the leader, as one of the members sees it.
func (c *cluster) leader(ctx context.Context) (int, error) {
	for i, m := range c.members {
		asking, cancel := context.WithTimeout(ctx, time.Second)
		status, err := c.client.Status(asking, m.client)
		cancel()
		if err == nil && status.Leader == status.Header.MemberId {
			return i, nil
		}
	}
	return 0, errors.New("no member leads")
}

// moveLeader makes another member the leader.
func (c *cluster) moveLeader(ctx context.Context) error {
	leader, err := c.leader(ctx)
	if err != nil {
		return err
	}
	next := c.members[(leader+1)%members]
	status, err := c.client.Status(ctx, next.client)
	if err != nil {
		return err
	}
	direct, err := clientv3.New(clientv3.Config{Endpoints: []string{c.members[leader].client}, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer direct.Close()
	_, err = direct.MoveLeader(ctx, status.Header.MemberId)
	return err
}

// freeAddress finds an address on loopback that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// proxy takes connections to a member of etcd, until they are cut.
type proxy struct {
	listener net.Listener
	to       string

	mu   sync.Mutex // guards the fields below
	down bool
	open map[net.Conn]struct{}

	delay atomic.Int64 // how long what a client sends is held back, in nanoseconds
}

// startProxy starts a proxy, which ends with the test.
func startProxy(t *testing.T, to string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: listener, to: strings.TrimPrefix(to, "http://"), open: map[net.Conn]struct{}{}}
	go p.serve() // ends with the listener
	t.Cleanup(func() {
		listener.Close()
		p.cut()
	})
	return p
}

func (p *proxy) url() string { return "http://" + p.listener.Addr().String() }

func (p *proxy) serve() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		go p.carry(near) // ends when one of the two ends does, or they are cut
	}
}

func (p *proxy) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer far.Close()
	if !p.keep(near, far) {
		return
	}
	defer p.drop(near, far)
	go func() { // ends with the other direction
		_, _ = io.Copy(far, held{near, &p.delay})
		far.Close()
		near.Close()
	}()
	_, _ = io.Copy(near, far)
}

// held is a connection that is read late.
type held struct {
	net.Conn
	delay *atomic.Int64
}

func (h held) Read(b []byte) (int, error) {
	n, err := h.Conn.Read(b)
	time.Sleep(time.Duration(h.delay.Load()))
	return n, err
}

// keep notes open connections; false: the proxy is down.
func (p *proxy) keep(connections ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, connection := range connections {
		p.open[connection] = struct{}{}
	}
	return !p.down
}

func (p *proxy) drop(connections ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, connection := range connections {
		delete(p.open, connection)
	}
}

// cut breaks all connections, and refuses new ones until heal.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for connection := range p.open {
		connection.Close()
	}
}

func (p *proxy) heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}
