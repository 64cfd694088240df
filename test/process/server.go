package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// readyMarker is in the one line the server prints when it is ready.
	readyMarker = "KUBECONFIG="
	// portTaken is in the error of a server whose port another process took
	// between our asking for a free one and the server's listening on it.
	portTaken = "address already in use"
	// attempts bounds how often Start picks another port.
	attempts = 5
	// stopTimeout bounds Stop; a server that takes longer is killed.
	stopTimeout = 30 * time.Second
)

// ErrSlowStop is returned by Stop when the server had to be killed.
var ErrSlowStop = errors.New("server did not stop in time after SIGTERM")

// Options say what to start.
type Options struct {
	// Binary is the path of crd-server.
	Binary string
	// DataDir is where the server keeps its data; it may exist already.
	DataDir string
	// Port is where it listens on 127.0.0.1; 0 picks a free one.
	Port int
	// Args are further arguments.
	Args []string
	// Env is added to the environment of this process.
	Env []string
}

// Server is a running crd-server.
type Server struct {
	// URL is its address, https://127.0.0.1:port.
	URL string
	// Port is the port in URL.
	Port int
	// Kubeconfig is the path of the admin kubeconfig.
	Kubeconfig string
	// DataDir is as in Options.
	DataDir string

	command *exec.Cmd
	output  *output
	// done is closed by the goroutine that waits for the process, after err is set.
	done chan struct{}
	err  error
}

// Start starts a server and returns when it says that it is ready. The caller
// ends it with Stop or Kill. If ctx ends first, the server is killed.
func Start(ctx context.Context, options Options) (*Server, error) {
	for attempt := 1; ; attempt++ {
		server, err := start(ctx, options)
		if err == nil {
			return server, nil
		}
		if options.Port != 0 || attempt == attempts || !strings.Contains(err.Error(), portTaken) {
			return nil, err
		}
	}
}

func start(ctx context.Context, options Options) (*Server, error) {
	port := options.Port
	if port == 0 {
		var err error
		if port, err = FreePort(); err != nil {
			return nil, err
		}
	}
	s, err := launch(options, port)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.output.seen:
		return s, nil
	case <-s.done:
		return nil, fmt.Errorf("%s ended before it was ready: %v\n%s", options.Binary, s.err, s.output)
	case <-ctx.Done():
		return nil, errors.Join(fmt.Errorf("%s is not ready: %w\n%s", options.Binary, ctx.Err(), s.output), s.Kill())
	}
}

// launch starts the process; its output and its end are collected by
// goroutines of os/exec and one of ours, which all end with the process.
func launch(options Options, port int) (*Server, error) {
	args := append([]string{
		"--data-dir", options.DataDir,
		"--bind-address", "127.0.0.1",
		"--secure-port", strconv.Itoa(port),
	}, options.Args...)
	s := &Server{
		URL:        "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port)),
		Port:       port,
		Kubeconfig: filepath.Join(options.DataDir, "admin.kubeconfig"),
		DataDir:    options.DataDir,
		command:    exec.Command(options.Binary, args...),
		output:     newOutput(readyMarker),
		done:       make(chan struct{}),
	}
	s.command.Env = append(os.Environ(), options.Env...)
	s.command.Stdout = s.output
	s.command.Stderr = s.output
	s.command.SysProcAttr = endWithParent()
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	go func() {
		s.err = s.command.Wait()
		close(s.done)
	}()
	return s, nil
}

// Stop asks the server to end (SIGTERM) and waits until it has. It returns
// nil when the server ended with exit code 0.
func (s *Server) Stop() error {
	if err := s.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-s.done:
		return s.err
	case <-time.After(stopTimeout):
		return errors.Join(ErrSlowStop, s.Kill())
	}
}

// Kill ends the server without a chance to react (SIGKILL), and waits for it.
func (s *Server) Kill() error {
	if err := s.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-s.done
	return nil
}

// Signal sends a signal. A server that has ended already is no error.
func (s *Server) Signal(signal os.Signal) error {
	if err := s.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal server: %w", err)
	}
	return nil
}

// Done is closed when the process has ended.
func (s *Server) Done() <-chan struct{} { return s.done }

// Pid is the process ID.
func (s *Server) Pid() int { return s.command.Process.Pid }

// Output is the newest part of what the server has printed.
func (s *Server) Output() string { return s.output.String() }

// ReadyLine is the line the server printed when it was ready.
func (s *Server) ReadyLine() string { return s.output.foundLine() }

// FreePort returns a TCP port on 127.0.0.1 that nobody listens on now.
func FreePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
