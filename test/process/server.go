package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/crd-server/crd-server/test/port"
)

// readyMarker is in the one line the server prints when it is ready.
const readyMarker = "KUBECONFIG="

// readyURL finds the server's address in that line.
var readyURL = regexp.MustCompile(`https://[^\s;]+`)

// stopTimeout bounds Stop; a server that takes longer is killed.
const stopTimeout = 30 * time.Second

// ErrSlowStop is returned by Stop when the server had to be killed.
var ErrSlowStop = errors.New("server did not stop in time after a signal")

// Options say what to start.
type Options struct {
	// Binary is the path of crd-server.
	Binary string
	// DataDir is where the server keeps its data; it may exist already.
	DataDir string
	// Port is where it listens on 127.0.0.1; 0 lets the server take any free one.
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

// Start starts a server and returns when it is ready. The caller ends it with Stop or Kill. If ctx ends first, Start
// ends the server, and the error contains the stacks of its goroutines.
func Start(ctx context.Context, options Options) (*Server, error) {
	s, err := launch(options)
	if err != nil {
		return nil, err
	}
	select {
	case <-s.output.seen:
		if s.URL = readyURL.FindString(s.ReadyLine()); s.URL == "" {
			return nil, errors.Join(fmt.Errorf("the ready line has no URL: %s", s.ReadyLine()), s.Kill())
		}
		return s, nil
	case <-s.done:
		return nil, fmt.Errorf("%s ended before it was ready: %v\n%s", options.Binary, s.err, s.output)
	case <-ctx.Done():
		endErr := s.dump()
		return nil, errors.Join(fmt.Errorf("%s is not ready: %w\n%s", options.Binary, ctx.Err(), s.output), endErr)
	}
}

// launch starts the process. Goroutines of os/exec and one of this package collect its output and its exit; all end
// with the process.
func launch(options Options) (*Server, error) {
	if options.Port == 0 { // one that stays free while the server is started again
		var err error
		if options.Port, err = port.Free(); err != nil {
			return nil, err
		}
	}
	args := append([]string{
		"--data-dir", options.DataDir,
		"--bind-address", "127.0.0.1",
		"--secure-port", strconv.Itoa(options.Port),
	}, options.Args...)
	s := &Server{
		Kubeconfig: filepath.Join(options.DataDir, "admin.kubeconfig"),
		DataDir:    options.DataDir,
		command:    exec.Command(options.Binary, args...),
		output:     newOutput(readyMarker),
		done:       make(chan struct{}),
	}
	// The server warns if the user works with another server.
	s.command.Env = append(append(os.Environ(), "KUBECONFIG="), options.Env...)
	s.command.Stdout = s.output
	s.command.Stderr = s.output
	s.command.SysProcAttr = EndWithParent()
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	go func() {
		s.err = s.command.Wait()
		close(s.done)
	}()
	return s, nil
}

// Stop sends SIGTERM to the server and waits until it has ended. It returns nil if the exit code is 0.
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

// dump ends the server with SIGQUIT, on which Go's runtime prints the stacks of all goroutines.
func (s *Server) dump() error {
	if err := s.Signal(syscall.SIGQUIT); err != nil {
		return err
	}
	select {
	case <-s.done:
		return nil
	case <-time.After(stopTimeout):
		return errors.Join(ErrSlowStop, s.Kill())
	}
}

// Kill ends the server with SIGKILL and waits for it.
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

// Port is the port in URL, for a later start at the same address.
func (s *Server) Port() int {
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.URL, "https://"))
	number, _ := strconv.Atoi(port)
	return number
}

// ReadyLine is the line the server printed when it was ready.
func (s *Server) ReadyLine() string { return s.output.foundLine() }
