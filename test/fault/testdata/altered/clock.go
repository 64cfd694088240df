package main

import _ "unsafe" // for linkname

// vdsoClockgettimeSym is the address of the kernel's function that tells Go's runtime the time.
//
//go:linkname vdsoClockgettimeSym runtime.vdsoClockgettimeSym
var vdsoClockgettimeSym uintptr

// movableClock returns the address of a replacement for it whose wall clock is moved by the controls.
func movableClock() uintptr

func init() { vdsoClockgettimeSym = movableClock() }
