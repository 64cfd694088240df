package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Effort is what a process has spent its time on so far, over all of its threads: they may wait side by side.
type Effort struct {
	// CPU is how long they ran.
	CPU time.Duration
	// Waited is how long they could have run, but other processes had the processors.
	Waited time.Duration
}

func (e Effort) String() string {
	return fmt.Sprintf("%s of CPU, %s of waiting for one", e.CPU.Round(time.Millisecond), e.Waited.Round(time.Millisecond))
}

// Since is what was spent after an earlier look.
func (e Effort) Since(before Effort) Effort {
	return Effort{CPU: e.CPU - before.CPU, Waited: e.Waited - before.Waited}
}

// Starved says that others had the processors for most of the time: how long something took says little about the process.
func (e Effort) Starved() bool { return e.Waited > e.CPU }

// EffortOf asks the kernel (proc_pid_schedstat). It is zero where the kernel does not tell.
func EffortOf(pid int) (e Effort) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return e
	}
	for _, thread := range threads {
		var ran, waited time.Duration // nanoseconds
		content, err := os.ReadFile(thread)
		if err != nil {
			continue // the thread has just ended
		}
		if _, err := fmt.Sscan(string(content), &ran, &waited); err == nil {
			e.CPU, e.Waited = e.CPU+ran, e.Waited+waited
		}
	}
	return e
}

// DiskStalls is for how long something on this machine has been waiting for a disk since it was started (PSI). It is zero where
// the kernel does not tell.
func DiskStalls() time.Duration {
	content, err := os.ReadFile("/proc/pressure/io")
	if err != nil {
		return 0
	}
	_, total, _ := strings.Cut(string(content), "total=") // of its first line, some
	var microseconds int64
	if _, err := fmt.Sscan(total, &microseconds); err != nil {
		return 0
	}
	return time.Duration(microseconds) * time.Microsecond
}
