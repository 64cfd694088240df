package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// sampleEvery is how often memory is sampled.
const sampleEvery = 200 * time.Millisecond

// memory is what the processes of a server have together, in bytes, as /proc/PID/smaps_rollup says.
type memory struct {
	// Anonymous is without the pages of files, which the kernel may drop: programs and etcd's database.
	Anonymous int64
	// Proportional is with them. A page that several processes have counts once (Pss).
	Proportional int64
}

// watchMemory samples the memory of the processes that run a program of a folder. The returned function ends the
// sampling, and returns the peaks.
func watchMemory(assets string) (stop func() memory) {
	done, peaks := make(chan struct{}), make(chan memory)
	go func() { // ends when stop is called
		var peak memory
		ticker := time.NewTicker(sampleEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				peaks <- peak
				return
			case <-ticker.C:
			}
			var now memory
			for _, pid := range serverProcesses(assets) {
				used := memoryOf(pid)
				now.Anonymous += used.Anonymous
				now.Proportional += used.Proportional
			}
			peak.Anonymous = max(peak.Anonymous, now.Anonymous)
			peak.Proportional = max(peak.Proportional, now.Proportional)
		}
	}()
	return func() memory {
		close(done)
		return <-peaks
	}
}

// serverProcesses finds the processes whose program was started by its path in the folder. envtest starts them in that
// way. kubectl is not a server.
func serverProcesses(assets string) []int {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	var pids []int
	for _, folder := range folders {
		arguments, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		if err != nil {
			continue // it has ended
		}
		program, _, _ := bytes.Cut(arguments, []byte{0})
		dir, name := filepath.Split(string(program))
		if filepath.Clean(dir) != assets || name == "kubectl" {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(folder)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// memoryOf reads the memory of a process; it is 0 if the process has ended.
func memoryOf(pid int) memory {
	rollup, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return memory{}
	}
	defer rollup.Close()
	var used memory
	for lines := bufio.NewScanner(rollup); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "Anonymous":
			used.Anonymous = kilobytes << 10
		case "Pss":
			used.Proportional = kilobytes << 10
		}
	}
	return used
}

// endProcesses kills the server's processes that a binary has left running, and returns how many they were.
func endProcesses(assets string) int {
	pids := serverProcesses(assets)
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended meanwhile
	}
	return len(pids)
}
