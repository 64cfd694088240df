package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crd-server/crd-server/test/process"
)

// Kind is a kind of server.
type Kind string

// The kinds.
const (
	Upstream Kind = "upstream"
	Ours     Kind = "crd-server"
	// Embedded is crd-server with etcd in its process.
	Embedded Kind = "crd-server with etcd"
	// Kubernetes is kube-apiserver, upstream's server of built-in resources. Results count it as upstream.
	Kubernetes Kind = "kube-apiserver"
	// Bare is a handler that sends as many bytes and does nothing else.
	Bare Kind = "bare handler"
)

// own returns whether the kind is crd-server.
func (k Kind) own() bool { return k == Ours || k == Embedded }

// hasNamespaces returns whether objects need a namespace that exists.
func (k Kind) hasNamespaces() bool { return k.own() || k == Kubernetes }

// column is the kind as which results count it.
func (k Kind) column() Kind {
	if k == Kubernetes {
		return Upstream
	}
	return k
}

// clientCount is the default number of clients of a load.
const clientCount = 16

// startTimeout bounds every start; the machine may be busy.
const startTimeout = time.Minute

// Server is a running server with its etcd and its clients.
type Server struct {
	Kind Kind
	// Started is the time from exec to /readyz, with a running etcd if the server needs one; EtcdStarted is that of
	// the etcd.
	Started, EtcdStarted time.Duration

	options process.Options
	process *process.Server
	pid     int
	etcd    *etcd
	clients []*Client
	dir     string
}

// Pid is the server's process.
func (s *Server) Pid() int { return s.pid }

// Client returns one of its clients.
func (s *Server) Client() *Client { return s.clients[0] }

// NewClient returns a new client.
func (s *Server) NewClient() (*Client, error) { return newClient(s.process.Kubeconfig, s.process.URL) }

// start starts a server with an empty store.
func start(ctx context.Context, programs Programs, kind Kind) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	dir, err := os.MkdirTemp("", "crd-server-bench-")
	if err != nil {
		return nil, err
	}
	s := &Server{Kind: kind, dir: dir}
	unix.Sync() // so that earlier writes to the disk do not delay its etcd
	if err := s.start(ctx, programs); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", kind, err), s.Stop())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, programs Programs) (err error) {
	binaries := map[Kind]string{
		Upstream: programs.Upstream, Kubernetes: programs.Kubernetes,
		Ours: programs.Ours, Embedded: programs.Ours, Bare: programs.Bare,
	}
	s.options = process.Options{Binary: binaries[s.Kind], DataDir: filepath.Join(s.dir, "data")}
	if s.Kind == Upstream || s.Kind == Ours {
		began := time.Now()
		if s.etcd, err = startEtcd(programs.Etcd, filepath.Join(s.dir, "etcd")); err != nil {
			return err
		}
		s.EtcdStarted = time.Since(began)
		s.options.Args = []string{"--etcd-servers", s.etcd.url}
	}
	if s.Kind == Kubernetes {
		s.options.Args = programs.KubernetesArgs
	}
	if err := s.launch(ctx); err != nil || !s.Kind.hasNamespaces() {
		return err
	}
	return s.createNamespace(ctx, widgetNamespace)
}

// createNamespace creates a namespace for objects.
func (s *Server) createNamespace(ctx context.Context, name string) error {
	body := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name)
	_, err := s.Client().Do(ctx, http.StatusCreated, http.MethodPost, "/api/v1/namespaces", asJSON, body)
	return err
}

// launch starts the process and connects the clients.
func (s *Server) launch(ctx context.Context) (err error) {
	if s.options.Port, err = freePort(); err != nil {
		return err
	}
	began := time.Now()
	ready := make(chan error, 1)
	go func() { ready <- s.pollReady(ctx) }() // ends with ctx at the latest
	if s.process, err = process.Start(ctx, s.options); err != nil {
		return err
	}
	if err := <-ready; err != nil {
		return err
	}
	s.Started = time.Since(began)
	s.pid = s.process.Pid()
	if s.Kind == Kubernetes {
		if s.pid, err = childOf(s.pid); err != nil {
			return err
		}
	}
	_, err = s.crew(clientCount)
	return err
}

// crew returns that many clients of the server, and keeps new ones.
func (s *Server) crew(count int) ([]*Client, error) {
	for len(s.clients) < count {
		client, err := s.NewClient()
		if err != nil {
			return nil, err
		}
		s.clients = append(s.clients, client)
	}
	return s.clients[:count], nil
}

// restart kills the server and starts it again on the same data.
func (s *Server) restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	s.closeClients()
	if err := s.process.Kill(); err != nil {
		return err
	}
	return s.launch(ctx)
}

func (s *Server) closeClients() {
	for _, client := range s.clients {
		client.Close()
	}
	s.clients = nil
}

// pollReady polls /readyz without a credential, which does not exist yet. kube-apiserver knows no anonymous user here;
// the program that starts it says when it is ready.
func (s *Server) pollReady(ctx context.Context) error {
	if s.Kind == Kubernetes {
		return nil
	}
	client := newAnonymousClient(fmt.Sprintf("https://127.0.0.1:%d", s.options.Port))
	defer client.Close()
	return client.waitReady(ctx)
}

// Stop ends the server and its etcd, and removes their data.
func (s *Server) Stop() error {
	s.closeClients()
	// Errors do not matter: the data is deleted.
	var errs []error
	if s.process != nil {
		errs = append(errs, s.process.Kill())
	}
	if s.etcd != nil {
		errs = append(errs, s.etcd.kill())
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}

// etcd is an etcd process.
type etcd struct {
	url     string
	command *exec.Cmd
}

// startEtcd starts an etcd and returns when it serves.
func startEtcd(binary, dir string) (*etcd, error) {
	command := exec.Command(binary, "-data-dir", dir)
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // an interrupted run leaves nothing behind
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	e := &etcd{command: command}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("etcd ended before it served: %w", err), e.kill())
	}
	e.url = strings.TrimSpace(line)
	return e, nil
}

// kill kills the etcd and waits for it.
func (e *etcd) kill() error {
	if err := e.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	_ = e.command.Wait() // killed: it always fails
	return nil
}

// freePort returns a port on which nothing listens. The poller has to know it before the server starts.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}
