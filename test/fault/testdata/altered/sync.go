package main

import (
	"encoding/binary"
	"reflect"
	"syscall"
	"time"
	"unsafe"
)

// The code of syscall.Fdatasync, with which etcd syncs its log and its database, begins with a jump to slowFdatasync.
// (It is too large to be compiled into its callers.)
func init() {
	to := slowFdatasync
	jump := binary.LittleEndian.AppendUint64([]byte{0x48, 0xba}, uint64(*(*uintptr)(unsafe.Pointer(&to)))) // MOVQ $to, DX
	// JMP (DX), as closures are called
	jump = append(jump, 0xff, 0x22)
	code, page := reflect.ValueOf(syscall.Fdatasync).Pointer(), uintptr(syscall.Getpagesize())
	first, last := code&^(page-1), (code+uintptr(len(jump)-1))&^(page-1)
	pages := unsafe.Slice((*byte)(unsafe.Pointer(first)), last-first+page)
	if err := syscall.Mprotect(pages, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC); err != nil {
		panic(err)
	}
	copy(pages[code-first:], jump)
	if err := syscall.Mprotect(pages, syscall.PROT_READ|syscall.PROT_EXEC); err != nil {
		panic(err)
	}
}

// slowFdatasync is syscall.Fdatasync with the minimal duration that the controls set.
func slowFdatasync(fd int) error {
	moment := syscall.NsecToTimespec(int64(time.Millisecond))
	for began := time.Now(); time.Since(began) < time.Duration(controls.sync.Load()); {
		_ = syscall.Nanosleep(&moment, nil)
	}
	if _, _, err := syscall.Syscall(syscall.SYS_FDATASYNC, uintptr(fd), 0, 0); err != 0 {
		return err
	}
	return nil
}
