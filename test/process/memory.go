package process

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Memory is what processes have together, in bytes.
type Memory struct {
	// Anonymous is without the pages of files, which the kernel may drop: programs and etcd's database.
	Anonymous int64
	// Proportional is with them (PSS). A page that several processes have counts once.
	Proportional int64
}

// Add adds the memory of other processes.
func (m *Memory) Add(other Memory) {
	m.Anonymous += other.Anonymous
	m.Proportional += other.Proportional
}

// MemoryOf reads the memory of a process from /proc/PID/smaps_rollup, which only Linux has. It returns an error if the
// process has ended.
func MemoryOf(pid int) (Memory, error) {
	rollup, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return Memory{}, err
	}
	defer rollup.Close() // it was only read
	var used Memory
	lines := bufio.NewScanner(rollup)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "Anonymous":
			used.Anonymous = kilobytes << 10
		case "Pss":
			used.Proportional = kilobytes << 10
		}
	}
	return used, lines.Err()
}
