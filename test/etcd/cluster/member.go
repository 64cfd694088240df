package cluster

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// Member is one member of a cluster: a process.
type Member struct {
	Name string
	// URL is where it serves clients.
	URL string

	dir     string // of its data
	peer    string // where it serves other members
	binary  string
	args    []string
	command *exec.Cmd
}

// Start starts the member, for the first time or again, and returns when it serves. It does not serve before there is
// a quorum.
func (m *Member) Start() error {
	m.command = exec.Command(m.binary, m.args...)
	m.command.Stderr = os.Stderr
	m.command.SysProcAttr = endWithParent()
	output, err := m.command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := m.command.Start(); err != nil {
		return err
	}
	if _, err := bufio.NewReader(output).ReadString('\n'); err != nil {
		return fmt.Errorf("etcd member %s ended before it served: %w", m.Name, err)
	}
	return nil
}

// Signal sends a signal. A member that has ended already is no error.
func (m *Member) Signal(signal os.Signal) error {
	if err := m.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal etcd member %s: %w", m.Name, err)
	}
	return nil
}

// Pid is the process ID of a member that was started.
func (m *Member) Pid() int { return m.command.Process.Pid }

// Kill ends the member with SIGKILL, even if it is stopped, and waits for it.
func (m *Member) Kill() error {
	if m.command == nil || m.command.Process == nil {
		return nil
	}
	err := m.Signal(syscall.SIGKILL)
	_ = m.command.Wait() // killed: it always fails
	return err
}
