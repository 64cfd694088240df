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

// altered returns a server that is built from the source and with the options of the server under test, with
// testdata/altered added to package main: only that package is compiled. It obeys controls. Where this is not
// possible, the test is skipped.
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
		replace[filepath.Join(programs.Root(), "cmd", "crd-server",
			"altered_"+filepath.Base(file))] = filepath.Join(programs.Root(), "test", "fault", file)
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
	if programs.BuiltWith("-pgo") != "" {
		profile = "auto"
	}
	build := exec.Command("go", "build", "-pgo="+profile, "-tags="+programs.BuiltWith("-tags"),
		fmt.Sprintf("-race=%t", raceDetector()),
		fmt.Sprintf("-trimpath=%t", programs.BuiltWith("-trimpath") == "true"), "-overlay", path+".json",
		"-ldflags=-w", // or the linker takes twice as long
		"-o", path, "./cmd/crd-server")
	build.Dir = programs.Root()
	build.Env = append(os.Environ(), "CGO_ENABLED="+programs.BuiltWith("CGO_ENABLED")) // the race detector needs cgo
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", build, err, output)
	}
	return path, nil
})

// Numbers that control an altered server (testdata/altered/controls.go).
const (
	// clockControl is the offset of its wall clock in seconds.
	clockControl = iota
	// syncControl is the minimal duration of fdatasync in nanoseconds; a call in progress obeys changes.
	syncControl
	numberOfControls
)

// controls belong to one altered server. All are zero at first.
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

// tell sets a control, with immediate effect.
func (c *controls) tell(t *testing.T, control int, number int64) {
	t.Helper()
	if _, err := c.file.WriteAt(encoding.NativeEndian.AppendUint64(nil, uint64(number)), int64(control)*8); err != nil {
		t.Fatal(err)
	}
}

// env returns the environment of the server.
func (c *controls) env() []string { return []string{"FAULT_CONTROLS=" + c.file.Name()} }
