//go:build !linux

package process

import "syscall"

// EndWithParent needs Linux; elsewhere an interrupted test may leave a server behind.
func EndWithParent() *syscall.SysProcAttr { return nil }
