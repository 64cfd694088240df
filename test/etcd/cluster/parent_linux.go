package cluster

import "syscall"

// endWithParent makes the kernel end a member when the test process dies,
// so that an interrupted test leaves nothing behind.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
