package envtest

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// helpFlag is the line of a flag in a help: its name, the kind of its value, and its default. In ours the description
// and the default are in the lines below.
var helpFlag = regexp.MustCompile(`(?m)^ +(?:-., +)?--([a-z0-9-]+)( [A-Za-z0-9]\S*)?(?:  .*?(?:\(default (.*)\))?)?$`)

// hidden are flags of kube-apiserver that its help does not show.
var hidden = []string{
	"apiserver-count", "audit-webhook-batch-initial-backoff", "default-watch-cache-size", "kubelet-port",
	"kubelet-read-only-port",
}

// TestDifferential compares the flags with those of kube-apiserver: it must have the same ones, and accept the
// defaults, the feature gates and the admission plugins of kube-apiserver.
func TestDifferential(t *testing.T) {
	if !*upstream {
		t.Skip("needs -upstream")
	}
	theirs, ours := help(t, oracle), help(t, assets)
	missing := difference(theirs.flags, ours.flags)
	if len(missing) > 0 {
		t.Errorf("flags of kube-apiserver that are refused: %v", missing)
	}
	for _, name := range difference(ours.flags, theirs.flags) {
		if !slices.Contains(hidden, name) {
			t.Errorf("--%s is no flag of kube-apiserver", name)
		}
	}
	for name, value := range theirs.flags {
		if value != "" && !slices.Contains(missing, name) {
			accepts(t, "--"+name+"="+value)
		}
	}
	for _, gate := range theirs.gates {
		accepts(t, "--feature-gates="+gate)
	}
	for _, plugin := range theirs.plugins {
		accepts(t, "--enable-admission-plugins="+plugin)
	}
}

// difference returns the keys of a that b lacks, sorted.
func difference(a, b map[string]string) (names []string) {
	for name := range a {
		if _, ok := b[name]; !ok {
			names = append(names, name)
		}
	}
	return slices.Sorted(slices.Values(names))
}

// accepted is what a help says: flags with their defaults, feature gates with theirs, and admission plugins.
type accepted struct {
	flags          map[string]string
	gates, plugins []string
}

func help(t *testing.T, dir string) accepted {
	t.Helper()
	printed, err := exec.CommandContext(t.Context(), filepath.Join(dir, "kube-apiserver"), "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	text := string(printed)
	a := accepted{flags: map[string]string{}}
	for _, match := range helpFlag.FindAllStringSubmatch(text, -1) {
		a.flags[match[1]] = strings.Trim(match[3], `"[]`)
	}
	gates := map[string]bool{}
	gate := regexp.MustCompile(`(?m)(kube:\w+)=true\|false \(.*default=(\w+)\)`)
	for _, match := range gate.FindAllStringSubmatch(text, -1) {
		gates[match[1]+"="+match[2]] = true
	}
	a.gates = slices.Sorted(maps.Keys(gates))
	_, list, _ := strings.Cut(text, "comma-delimited list of admission plugins: ")
	list, _, _ = strings.Cut(list, ". ")
	if list != "" {
		a.plugins = strings.Split(list, ", ")
	}
	return a
}

// accepts checks that an argument is not refused. The flag after it always is, and arguments are read in order.
func accepts(t *testing.T, argument string) {
	t.Helper()
	const end = "--secure-port=end"
	command := exec.CommandContext(t.Context(), filepath.Join(assets, "kube-apiserver"), argument, end)
	printed, err := command.CombinedOutput()
	if err == nil || !strings.Contains(string(printed), `invalid argument "end"`) {
		t.Errorf("%s: %v %s", argument, err, fmt.Sprintf("%.200s", printed))
	}
}
