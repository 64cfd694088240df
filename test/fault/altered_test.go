package fault

import (
	encoding "encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/crd-server/crd-server/test/programs"
)

// altered returns a server that is built from the same source as the one that is tested, and in the same way, with all of testdata/altered
// added to its package main: so only that is compiled. It does what controls tell it. Where that cannot be, the test is skipped.
func altered(t *testing.T) string {
	t.Helper()
	if machine := runtime.GOOS + "/" + runtime.GOARCH; machine != "linux/amd64" {
		t.Skipf("testdata/altered has machine code for linux/amd64, this is %s", machine)
	}
	path, err := buildAltered()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var buildAltered = sync.OnceValues(func() (path string, err error) {
	added, err := filepath.Glob(filepath.Join("testdata", "altered", "*"))
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, file := range added {
		replace[filepath.Join(programs.Root(), "cmd", "crd-server", "altered_"+filepath.Base(file))] = filepath.Join(programs.Root(), "test", "fault", file)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path = filepath.Join(builds, "crd-server")
	if err := os.WriteFile(path+".json", overlay, 0o600); err != nil {
		return "", err
	}
	profile := "off"
	if builtWith("-pgo") != "" {
		profile = "auto"
	}
	build := exec.Command("go", "build", "-pgo="+profile, "-tags="+builtWith("-tags"), fmt.Sprintf("-race=%t", raceDetector()), "-overlay", path+".json",
		"-ldflags=-w", // or the linker takes twice as long
		"-o", path, "./cmd/crd-server")
	build.Dir = programs.Root()
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", build, err, output)
	}
	return path, nil
})

// Numbers that an altered server is told (testdata/altered/controls.go).
const (
	// clockControl is how far its wall clock is from the true one, in seconds.
	clockControl = iota
	// syncControl is how long its fdatasync takes at least, in nanoseconds; one that is under way hears of it too.
	syncControl
	numberOfControls
)

// controls are of one altered server, all zero at first.
type controls struct {
	file *os.File // the server sees it in its memory
}

func newControls(t *testing.T) *controls {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "controls"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	if err := file.Truncate(numberOfControls * 8); err != nil {
		t.Fatal(err)
	}
	return &controls{file: file}
}

// tell has effect at once.
func (c *controls) tell(t *testing.T, control int, number int64) {
	t.Helper()
	if _, err := c.file.WriteAt(encoding.NativeEndian.AppendUint64(nil, uint64(number)), int64(control)*8); err != nil {
		t.Fatal(err)
	}
}

// env is for the environment of the server.
func (c *controls) env() []string { return []string{"FAULT_CONTROLS=" + c.file.Name()} }
