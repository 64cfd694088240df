package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// clockTick is the unit of /proc/<pid>/stat; on Linux it has always been 1/100 s for programs.
const clockTick = 10 * time.Millisecond

// cpuTime is the user and system time that a process has used.
func cpuTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is the program's name, in parentheses, and may contain anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const user, system = 11, 12 // counted from the third field
	if len(fields) <= system {
		return 0, fmt.Errorf("stat of process %d is too short", pid)
	}
	var ticks int64
	for _, field := range [][]byte{fields[user], fields[system]} {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("stat of process %d: %w", pid, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

// childOf returns the only process that a process has started.
func childOf(pid int) (int, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return 0, err
	}
	var children []string // by the thread that has started them
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		children = append(children, strings.Fields(string(text))...)
	}
	if len(children) != 1 {
		return 0, fmt.Errorf("process %d has %d children, not one", pid, len(children))
	}
	return strconv.Atoi(children[0])
}

// anonymous returns the anonymous memory of a process in MB (10^6 bytes): heap, stacks and other memory that it has
// written. It does not include pages of the program's file, which the kernel can drop at any time.
func anonymous(pid int) (float64, error) {
	const line = "RssAnon:"
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for text := range strings.Lines(string(status)) {
		value, found := strings.CutPrefix(text, line)
		if !found {
			continue
		}
		kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
		if err != nil {
			return 0, fmt.Errorf("status of process %d: %w", pid, err)
		}
		return kib * 1024 / 1e6, nil
	}
	return 0, fmt.Errorf("status of process %d has no %s", pid, line)
}

// sampling is the time between two samples of a process's memory.
const sampling = 5 * time.Millisecond

// watchPeak samples the anonymous memory of a process until the returned function is called, which returns the
// largest sample. The kernel records the peak of resident memory only.
func watchPeak(pid int) (stop func() (float64, error)) {
	var (
		peak float64
		err  error
		done = make(chan struct{})
		wait sync.WaitGroup
	)
	sample := func() {
		var now float64
		if now, err = anonymous(pid); err == nil {
			peak = max(peak, now)
		}
	}
	wait.Go(func() {
		ticker := time.NewTicker(sampling)
		defer ticker.Stop()
		for err == nil {
			sample()
			select {
			case <-done:
				return
			case <-ticker.C:
			}
		}
	})
	return func() (float64, error) {
		close(done)
		wait.Wait()
		return peak, err
	}
}

// loadAverage returns the machine's load average.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
