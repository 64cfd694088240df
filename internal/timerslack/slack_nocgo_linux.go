//go:build !cgo

package timerslack

import "time"

// monitorSlack is how much later than it wants to the runtime's monitor may wake: a tick of the kernel. On a busy processor it wakes with that anyway.
const monitorSlack = 4 * time.Millisecond
