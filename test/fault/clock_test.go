package fault

import (
	"bufio"
	encoding "encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/process"
)

const (
	clockJumps = 40
	// clockRange bounds the jumps of the clock. The certificates that the server makes at its first start, at the lowest time of all, are
	// valid for a year.
	clockRange = 150 * 24 * time.Hour
	// clockFile names, in the environment of the server, the file that its clock is moved by.
	clockFile = "FAULT_CLOCK"
)

// TestClockJumps sets the wall clock of a server, and of the etcd in it, by months to and fro. Writes, reads and watches go on as if nothing
// had happened; time stamps are those of the clock; what takes a time takes no more and no less.
func TestClockJumps(t *testing.T) {
	if !*full {
		t.Skip("everything is compiled anew for this: only in full")
	}
	defer written.outcome(t, time.Now())
	clock := newClock(t)
	clock.set(t, -clockRange)
	options := process.Options{Binary: clock.build(t), DataDir: filepath.Join(t.TempDir(), "data"), Env: []string{clockFile + "=" + clock.file.Name()}}
	server := startServer(t, options)
	c := newClient(t, server)
	c.must(t, http.StatusCreated, http.MethodPost, definitions, asJSON, []byte(definition))
	watched := c.watchRevisions(t)
	var revisions []int64
	random := choices(t, 0)
	for n := range clockJumps {
		c.deleteHeldDefinition(t, n)
		clock.set(t, time.Duration(random.Int64N(2*int64(clockRange)))-clockRange)
		revisions = append(revisions, c.writeAt(t, clock, fmt.Sprintf("cell-%d", n))...)
		c.readAt(t, n+1)
		c.letDefinitionGo(t, n)
	}
	for n, want := range revisions {
		select {
		case got := <-watched:
			if got != want {
				t.Fatalf("event %d of the watch is revision %d, not %d", n, got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("event %d of the watch is missing", n)
		}
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	clock.set(t, -clockRange)
	newClient(t, startServer(t, options)).readAt(t, clockJumps)
	written.add(t, "%d jumps of the clock by up to %d days; %d writes, all of them watched", clockJumps, int(2*clockRange.Hours()/24), len(revisions))
}

// writeAt writes an object while the clock is as it was set, and returns the revisions.
func (c *client) writeAt(t *testing.T, clock *clock, name string) (revisions []int64) {
	t.Helper()
	wrote := func(code int, method, path, mediaType string, content []byte) {
		t.Helper()
		var o struct {
			object
			Metadata struct{ CreationTimestamp time.Time } `json:"metadata"`
		}
		answer := c.must(t, code, method, path, mediaType, content)
		if err := json.Unmarshal(answer, &o); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(answer, &o.object); err != nil {
			t.Fatal(err)
		}
		if off := o.Metadata.CreationTimestamp.Sub(clock.now()).Abs(); off > time.Minute {
			t.Errorf("created %s from the clock", off)
		}
		revisions = append(revisions, o.revision())
	}
	wrote(http.StatusCreated, http.MethodPost, cells, asJSON, body(name, "created", 0))
	wrote(http.StatusOK, http.MethodPatch, cells+"/"+name, asMergePatch, []byte(`{"spec":{"value":"patched"}}`))
	wrote(http.StatusOK, http.MethodPatch, cells+"/"+name+"?fieldManager=fault&force=true", asApply, body(name, "applied", 0))
	return revisions
}

// readAt reads what there is, by get, in pages, and by a watch that is to last for a second.
func (c *client) readAt(t *testing.T, objects int) {
	t.Helper()
	waitFor(t, "the server is ready", time.Minute, func() bool { return c.isReady(t.Context()) })
	var o object
	if err := json.Unmarshal(c.must(t, http.StatusOK, http.MethodGet, fmt.Sprintf("%s/cell-%d", cells, objects-1), "", nil), &o); err != nil || o.Spec.Value != "applied" {
		t.Errorf("%+v, %v", o, err)
	}
	page := c.ask(t, http.MethodGet, cells+"?limit=1", nil)
	found := len(page.Items)
	if page.Metadata.Continue != "" {
		found += len(c.ask(t, http.MethodGet, cells+"?continue="+page.Metadata.Continue, nil).Items)
	}
	if found != objects {
		t.Errorf("%d of %d objects are listed", found, objects)
	}
	began := time.Now()
	c.must(t, http.StatusOK, http.MethodGet, cells+"?watch=true&timeoutSeconds=1&resourceVersion="+page.Metadata.ResourceVersion, "", nil)
	if took := time.Since(began); took < time.Second {
		t.Errorf("a watch of a second took %s", took)
	}
}

// deleteHeldDefinition begins to delete a CRD that somebody else keeps.
func (c *client) deleteHeldDefinition(t *testing.T, n int) {
	t.Helper()
	name := fmt.Sprintf("held%d", n)
	held := strings.NewReplacer(`"metadata":{"name":"cells.`, `"metadata":{"finalizers":["fault.example.com/hold"],"name":"`+name+`.`,
		`"plural":"cells"`, `"plural":"`+name+`"`, `"cell"`, `"`+name+`"`, `"Cell`, `"`+strings.ToUpper(name)).Replace(definition)
	c.must(t, http.StatusCreated, http.MethodPost, definitions, asJSON, []byte(held))
	c.must(t, http.StatusOK, http.MethodDelete, definitions+"/"+name+"."+group, "", nil)
}

// letDefinitionGo waits until nobody but the holder keeps the CRD, and lets it go.
func (c *client) letDefinitionGo(t *testing.T, n int) {
	t.Helper()
	path := fmt.Sprintf("%s/held%d.%s", definitions, n, group)
	waitFor(t, "the CRD's objects are said to be gone", time.Minute, func() bool {
		return !strings.Contains(string(c.must(t, http.StatusOK, http.MethodGet, path, "", nil)), "customresourcecleanup")
	})
	c.must(t, http.StatusOK, http.MethodPatch, path, asMergePatch, []byte(`{"metadata":{"finalizers":null}}`))
	waitFor(t, "the CRD is gone", time.Minute, func() bool { return c.ask(t, http.MethodGet, path, nil).code == http.StatusNotFound })
}

// watchRevisions watches from now on until the test ends.
func (c *client) watchRevisions(t *testing.T) <-chan int64 {
	t.Helper()
	resp, err := c.open(t.Context(), http.MethodGet, cells+"?watch=true&resourceVersion=0", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	revisions := make(chan int64)
	go func() { // ends with the test's context
		defer close(revisions)
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			var event struct{ Object object }
			if json.Unmarshal(lines.Bytes(), &event) != nil {
				return
			}
			select {
			case revisions <- event.Object.revision():
			case <-t.Context().Done():
				return
			}
		}
	}()
	return revisions
}

// clock is the wall clock of a server that is built with it.
type clock struct {
	file *os.File // its first eight bytes are by how many seconds the clock is wrong
	by   time.Duration
}

func newClock(t *testing.T) *clock {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "clock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return &clock{file: file}
}

// set has the clock show another time than the true one, at once.
func (c *clock) set(t *testing.T, by time.Duration) {
	t.Helper()
	c.by = by.Truncate(time.Second)
	if _, err := c.file.WriteAt(encoding.NativeEndian.AppendUint64(nil, uint64(int64(c.by/time.Second))), 0); err != nil {
		t.Fatal(err)
	}
}

func (c *clock) now() time.Time { return time.Now().Add(c.by) }

// build returns a server whose time.Now is that of the clock: one built with another time package, which differs from Go's in that alone.
func (c *clock) build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	whole, err := os.ReadFile(filepath.Join(source, "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	const reading = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(whole), reading) != 1 {
		t.Fatal("time.Now is another one than this test knows")
	}
	moved := strings.Replace(string(whole), reading, reading+"\tsec += atomic.LoadInt64(movedBy)\n", 1)
	moved = strings.Replace(moved, "import (\n", "import (\n\t\"sync/atomic\"\n", 1)
	overlay := map[string]string{}
	for name, text := range map[string]string{"time.go": moved, "moved.go": movedClock} {
		overlay[filepath.Join(source, name)] = filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	replaced, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), replaced, 0o600); err != nil {
		t.Fatal(err)
	}
	moving := filepath.Join(dir, "crd-server")
	build := exec.CommandContext(t.Context(), "go", "build", "-pgo=off", "-overlay", filepath.Join(dir, "overlay.json"), "-o", moving, "./cmd/crd-server")
	build.Dir = filepath.Join("..", "..")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return moving
}

// movedClock is a file of the time package.
const movedClock = `package time

import (
	"syscall"
	"unsafe"
)

// movedBy are seconds that are added to the wall clock. Another process sets them.
var movedBy = func() *int64 {
	path, _ := syscall.Getenv("` + clockFile + `")
	file, err := syscall.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		panic(err)
	}
	shared, err := syscall.Mmap(file, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return (*int64)(unsafe.Pointer(&shared[0]))
}()
`
