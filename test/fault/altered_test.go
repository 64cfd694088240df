package fault

import (
	encoding "encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// alteration is a change of a file of Go or of a library. What it is changed to may call controlled, which returns the number that was told
// last to the control of the process.
type alteration struct {
	pkg, file string
	// from is in the file, once.
	from, to string
}

// altered returns a server that is built from the same source as the one that is tested, but for the alterations.
func altered(t *testing.T, alterations ...alteration) string {
	t.Helper()
	b := alteredBuild{t: t, dir: t.TempDir(), files: map[string]string{}, modules: map[string]string{}}
	for _, a := range alterations {
		b.alter(a)
	}
	return b.build()
}

// alteredBuild is how go build gets to see alterations: those of modules in copies of them, those of Go's own packages by an overlay, which is
// not allowed for modules.
type alteredBuild struct {
	t   *testing.T
	dir string
	// files are what replaces files, modules the copies of modules.
	files, modules map[string]string
}

func (b *alteredBuild) alter(a alteration) {
	b.t.Helper()
	source := run(b.t, "go", "list", "-f", "{{.Name}}\n{{.Dir}}\n{{with .Module}}{{.Path}}\n{{.Dir}}{{end}}", a.pkg)
	fields := strings.Split(strings.TrimSpace(source), "\n")
	name, folder := fields[0], fields[1]
	content, err := os.ReadFile(filepath.Join(folder, a.file))
	if err != nil {
		b.t.Fatal(err)
	}
	if strings.Count(string(content), a.from) != 1 {
		b.t.Fatalf("%s of %s is another one than this test knows", a.file, a.pkg)
	}
	to := func(file string) string {
		b.files[filepath.Join(folder, file)] = filepath.Join(b.dir, file)
		return filepath.Join(b.dir, file)
	}
	if len(fields) == 4 {
		module, original := fields[2], fields[3]
		if b.modules[module] == "" {
			b.modules[module] = filepath.Join(b.dir, fmt.Sprint("module", len(b.modules)))
			if err := os.CopyFS(b.modules[module], os.DirFS(original)); err != nil {
				b.t.Fatal(err)
			}
		}
		to = func(file string) string {
			return filepath.Join(b.modules[module], strings.TrimPrefix(folder, original), file)
		}
	}
	b.write(to(a.file), strings.Replace(string(content), a.from, a.to, 1))
	b.write(to("controlled.go"), "package "+name+controlled)
}

func (b *alteredBuild) write(file, content string) {
	b.t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *alteredBuild) build() (server string) {
	b.t.Helper()
	overlay, err := json.Marshal(map[string]any{"Replace": b.files})
	if err != nil {
		b.t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(b.dir, name) }
	b.write(in("overlay.json"), string(overlay))
	for file, copied := range map[string]string{"go.mod": "altered.mod", "go.sum": "altered.sum"} {
		content, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			b.t.Fatal(err)
		}
		b.write(in(copied), string(content))
	}
	for module, folder := range b.modules {
		run(b.t, "go", "mod", "edit", "-replace", module+"="+folder, in("altered.mod"))
	}
	run(b.t, "go", "build", "-pgo=off", fmt.Sprintf("-race=%t", raceDetector()), "-overlay", in("overlay.json"), "-modfile", in("altered.mod"),
		"-o", in("crd-server"), "./cmd/crd-server")
	return in("crd-server")
}

// run runs a command at the root of the project.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = filepath.Join("..", "..")
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, output)
	}
	return string(output)
}

// controlled is the rest of a file that an altered package is given.
const controlled = `

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

var control = func() *int64 {
	path, _ := syscall.Getenv("` + controlVariable + `")
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

func controlled() int64 { return atomic.LoadInt64(control) }
`

// controlVariable names the control of a process in its environment.
const controlVariable = "FAULT_CONTROL"

// control tells an altered process a number.
type control struct {
	file *os.File // the process sees its first eight bytes
}

func newControl(t *testing.T) *control {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "control"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	c := &control{file: file}
	c.tell(t, 0)
	return c
}

// tell has effect at once.
func (c *control) tell(t *testing.T, number int64) {
	t.Helper()
	if _, err := c.file.WriteAt(encoding.NativeEndian.AppendUint64(nil, uint64(number)), 0); err != nil {
		t.Fatal(err)
	}
}

// env is for the environment of the process.
func (c *control) env() []string { return []string{controlVariable + "=" + c.file.Name()} }
