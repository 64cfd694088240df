package process

import "syscall"

// endWithParent makes the kernel end the server when the test process dies,
// so that an interrupted test leaves nothing behind.
func endWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
