package server

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
)

// releaseProgram unmaps the pages of the program's file that were read so far.
func releaseProgram() error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer file.Close()
	mappings, err := unchangedMappings(file, program)
	if err != nil {
		return fmt.Errorf("read /proc/self/smaps: %w", err)
	}
	for _, m := range mappings {
		if _, _, errno := syscall.Syscall(syscall.SYS_MADVISE, m.start, m.end-m.start, syscall.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("give back pages of %s: %w", program, errno)
		}
	}
	return nil
}

// mapping is a range of addresses.
type mapping struct{ start, end uintptr }

// unchangedMappings returns the mappings of a file that cannot be written to and in which nothing was changed: a page of
// theirs is as it is in the file. Relocated constants are not among them, nor is what a debugger has a breakpoint in. The file's mappings lie
// together; what follows them is not read, for the kernel would have to look at every page of it.
func unchangedMappings(smaps io.Reader, path string) ([]mapping, error) {
	var found []mapping
	var current *mapping // whose lines come
	var passed bool      // a mapping of the file
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) < 2:
		case !strings.HasSuffix(fields[0], ":"): // a mapping begins
			var m mapping
			if _, err := fmt.Sscanf(fields[0], "%x-%x", &m.start, &m.end); err != nil {
				return nil, fmt.Errorf("mapping %q: %w", lines.Text(), err)
			}
			current = nil
			of := fields[len(fields)-1] == path
			if passed && !of {
				return found, nil
			}
			passed = of
			if of && (fields[1] == "r--p" || fields[1] == "r-xp") {
				current = &m
			}
		case fields[0] == "Anonymous:" && fields[1] == "0" && current != nil:
			found = append(found, *current)
		}
	}
	return found, lines.Err()
}

// minorFaults returns how many page faults the process has had that needed nothing to be read.
func minorFaults() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0 // it has no errors
	}
	return usage.Minflt
}

// memory returns how many bytes the process may use: all of the machine's, or less where its control group or GOMEMLIMIT has a limit; 0
// if that is not known.
func memory() uint64 {
	var machine syscall.Sysinfo_t
	if err := syscall.Sysinfo(&machine); err != nil {
		return 0 // it has no errors
	}
	limit := uint64(machine.Totalram) * uint64(machine.Unit) // 32 bits on some machines
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if most, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil { // it is "max" without a limit
			limit = min(limit, most)
		}
	}
	return min(limit, uint64(debug.SetMemoryLimit(-1)))
}
