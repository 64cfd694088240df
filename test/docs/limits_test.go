package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/crd-server/crd-server/test/programs"
)

// prepareLimits prepares a shell for the commands of docs/limits.md.
const prepareLimits = `
crd-server --crds=config/samples &
export KUBECONFIG=crd-server.data/admin.kubeconfig
kubectl apply -f config/samples/objects
export KUBE_EDITOR="sed -i -e 's/image: .*/image: registry.example.com\/other:1/'"
cp config/samples/objects/crontabs.yaml .
`

// limit is a row of the table in docs/limits.md.
type limit struct {
	command string
	works   bool
	// messages are what the command prints, word for word.
	messages []string
}

var (
	row  = regexp.MustCompile("(?m)^\\| `((?:[A-Z_]+=true )?kubectl [^`]*)` \\| (.*?) \\|")
	code = regexp.MustCompile("`([^`]+)`")
)

// limits reads the table.
func limits(page string) []limit {
	var all []limit
	for _, found := range row.FindAllStringSubmatch(page, -1) {
		one := limit{command: strings.ReplaceAll(found[1], `\|`, "|"), works: strings.HasPrefix(found[2], "works")}
		if !one.works {
			for _, message := range code.FindAllStringSubmatch(found[2], -1) {
				one.messages = append(one.messages, message[1])
			}
		}
		all = append(all, one)
	}
	return all
}

// TestLimits checks that each command in docs/limits.md works, or prints the messages that the page repeats.
func TestLimits(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(programs.Root(), "docs", "limits.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := limits(string(page))
	if len(rows) < 10 {
		t.Fatalf("found only %d commands", len(rows))
	}
	shell := newSession(t)
	if printed, err := shell.run(prepareLimits); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	for _, one := range rows {
		const failed = "=== failed"
		printed, err := shell.run(one.command + " || echo '" + failed + "'")
		if err != nil {
			t.Fatalf("%s: %v\n%s", one.command, err, printed)
		}
		if works := !strings.Contains(printed, failed); works != one.works {
			t.Errorf("%s: works: %v\n%s", one.command, works, printed)
		}
		for _, message := range one.messages {
			if !strings.Contains(printed, message) {
				t.Errorf("%s does not print %q but\n%s", one.command, message, printed)
			}
		}
	}
}

// TestExamples checks that pages show the programs that run as tests.
func TestExamples(t *testing.T) {
	t.Parallel()
	for page, program := range map[string]string{
		"controllers.md": "websites/main.go",
		"testing.md":     "gotest/crontabs_test.go",
	} {
		text, err := os.ReadFile(filepath.Join(programs.Root(), "docs", page))
		if err != nil {
			t.Fatal(err)
		}
		source, err := os.ReadFile(filepath.FromSlash(program))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "```go\n"+string(source)+"```") {
			t.Errorf("docs/%s does not show test/docs/%s as it is", page, program)
		}
	}
}
