//go:build cgo

package timerslack

import "time"

// monitorSlack is less with cgo, because another thread may keep it (see restore): when that looks for work it sleeps as long.
const monitorSlack = time.Millisecond
