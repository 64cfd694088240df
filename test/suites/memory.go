package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/crd-server/crd-server/test/process"
)

// sampleEvery is how often memory is sampled.
const sampleEvery = 200 * time.Millisecond

// watchMemory samples the memory of the processes that run a program of a folder. The returned function ends the
// sampling, and returns the peaks.
func watchMemory(assets string) (stop func() process.Memory) {
	done, peaks := make(chan struct{}), make(chan process.Memory)
	go func() { // ends when stop is called
		var peak process.Memory
		ticker := time.NewTicker(sampleEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				peaks <- peak
				return
			case <-ticker.C:
				peak = higher(peak, memoryOf(serverProcesses(assets)))
			}
		}
	}()
	return func() process.Memory {
		close(done)
		return <-peaks
	}
}

// higher returns the higher values of both.
func higher(a, b process.Memory) process.Memory {
	return process.Memory{Anonymous: max(a.Anonymous, b.Anonymous), Proportional: max(a.Proportional, b.Proportional)}
}

// memoryOf returns the memory of processes together, without those that have ended.
func memoryOf(pids []int) process.Memory {
	var sum process.Memory
	for _, pid := range pids {
		if used, err := process.MemoryOf(pid); err == nil {
			sum.Add(used)
		}
	}
	return sum
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

// endProcesses kills the server's processes that a binary has left running, and returns how many they were.
func endProcesses(assets string) int {
	pids := serverProcesses(assets)
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended meanwhile
	}
	return len(pids)
}
