package process

import "syscall"

// EndWithParent makes the kernel end the server when the test process dies,
// so that an interrupted test leaves nothing behind.
func EndWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
