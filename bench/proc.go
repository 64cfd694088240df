package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is what /proc/<pid>/stat counts in; Linux has shown 100 a second to programs for decades.
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

// Lines of /proc/<pid>/status.
const (
	residentNow  = "VmRSS:"
	residentPeak = "VmHWM:"
)

// resident is a process's resident memory in MB (10^6 bytes), now or at its peak.
func resident(pid int, line string) (float64, error) {
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

// resetPeak makes a process's peak start again from what it has now.
func resetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// loadAverage is the machine's load: how much of it was busy with something else.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(text))[:3], " ")
}
