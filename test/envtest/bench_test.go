package envtest

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// BenchmarkStart starts and stops environments, and measures the memory of their processes when they are ready: PSS,
// which counts the pages of the program's file that the kernel has mapped once for both processes, and anonymous
// memory.
func BenchmarkStart(b *testing.B) {
	var starting, stopping time.Duration
	var sums memory
	runs := 0
	for b.Loop() {
		environment := newEnvironment()
		begin := time.Now()
		if _, err := environment.Start(); err != nil {
			b.Fatal(err)
		}
		starting += time.Since(begin)
		if err := sums.add(); err != nil {
			b.Error(err)
		}
		begin = time.Now()
		if err := environment.Stop(); err != nil {
			b.Fatal(err)
		}
		stopping += time.Since(begin)
		runs++
	}
	per := func(total float64) float64 { return total / float64(runs) }
	b.ReportMetric(0, "ns/op") // it is the sum of the two below
	b.ReportMetric(per(starting.Seconds()), "s/start")
	b.ReportMetric(per(stopping.Seconds()), "s/stop")
	b.ReportMetric(per(float64(sums.pss)/1024), "MB-PSS")
	b.ReportMetric(per(float64(sums.anonymous)/1024), "MB-anonymous")
}

// memory is that of processes, in KiB.
type memory struct{ pss, anonymous int }

// add adds the memory of the children of this process.
func (m *memory) add() error {
	files, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil {
		return err
	}
	parent := fmt.Sprintf("PPid:\t%d", os.Getpid())
	for _, file := range files {
		status, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(status), parent+"\n") {
			continue // it has ended, or is another's
		}
		if err := m.addProcess(filepath.Dir(file)); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) addProcess(dir string) error {
	file, err := os.Open(filepath.Join(dir, "smaps_rollup"))
	if err != nil {
		return err
	}
	defer file.Close() // it was only read
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var size int
		if _, err := fmt.Sscanf(lines.Text(), "Pss: %d kB", &size); err == nil {
			m.pss += size
		}
		if _, err := fmt.Sscanf(lines.Text(), "Anonymous: %d kB", &size); err == nil {
			m.anonymous += size
		}
	}
	return lines.Err()
}
