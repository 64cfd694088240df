package main

import (
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// controls are set by the test through a shared page. They may change at any time.
var controls = func() *struct {
	clock atomic.Int64 // how far the wall clock is from the true one, in seconds; clock_amd64.s reads it
	sync  atomic.Int64 // how long fdatasync takes at least, in nanoseconds
} {
	file, err := os.Open(os.Getenv("FAULT_CONTROLS"))
	if err != nil {
		panic(err)
	}
	defer file.Close()
	page, err := syscall.Mmap(int(file.Fd()), 0, 2*8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return (*struct{ clock, sync atomic.Int64 })(unsafe.Pointer(&page[0]))
}()
