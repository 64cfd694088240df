//go:build !linux

package cluster

import "syscall"

// endWithParent needs Linux; elsewhere an interrupted test may leave a server behind.
func endWithParent() *syscall.SysProcAttr { return nil }
