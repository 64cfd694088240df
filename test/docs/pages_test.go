package docs

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crd-server/crd-server/test/programs"
)

var selected = flag.Bool("controllers", false, "run only the pages that need programs of other projects")

// needs is the line of a page that names the programs of other projects that its commands run.
var needs = regexp.MustCompile(`(?m)^<!-- needs: (.*) -->$`)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := programs.CheckServer(); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestPages runs the commands of every page.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"README.md", "CONTRIBUTING.md", "docs/*.md"} {
		pages, err := filepath.Glob(filepath.Join(programs.Root(), pattern))
		if err != nil || len(pages) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, page := range pages {
			t.Run(filepath.Base(page), func(t *testing.T) {
				t.Parallel()
				runPage(t, page)
			})
		}
	}
}

func runPage(t *testing.T, page string) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	var others []string
	if found := needs.FindStringSubmatch(string(text)); found != nil {
		others = strings.Fields(found[1])
	}
	if (len(others) > 0) != *selected {
		return // its blocks are as they should be
	}
	for _, tool := range []string{"openssl", "curl"} {
		if _, err := exec.LookPath(tool); err != nil && os.Getenv("CI") == "" && strings.Contains(string(text), tool+" ") {
			t.Skipf("%s is not installed", tool)
		}
	}
	var shell *session
	for _, block := range blocks {
		if block.skipped || !slices.Contains([]string{setup, "sh", "console"}, block.language) {
			continue
		}
		if shell == nil {
			shell = newSession(t, others...)
		}
		if block.language == "console" {
			converse(t, shell, block)
		} else if printed, err := shell.run(block.text); err != nil {
			t.Fatalf("line %d: %v:\n%s\nprinted:\n%s", block.line, err, block.text, printed)
		}
	}
}

// converse runs the commands of a console block and compares what they print. They may fail.
func converse(t *testing.T, shell *session, block block) {
	t.Helper()
	for _, step := range steps(block.text) {
		printed, err := shell.run(step.command + " || :")
		if err != nil || normal(printed) != normal(step.want) {
			t.Fatalf("line %d: %s: %v\nprinted:\n%s\nnot:\n%s", block.line, step.command, err, normal(printed),
				normal(step.want))
		}
	}
}

var (
	durations = regexp.MustCompile(`\b\d+(\.\d+)?m?s\b`)
	ports     = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	folders   = regexp.MustCompile(`\S*/crd-server\.data`)
	spaces    = regexp.MustCompile(`[ \t]+`)
	lineEnds  = regexp.MustCompile(` ?\n`)
)

// normal returns the printed text without what differs between runs.
func normal(printed string) string {
	printed = durations.ReplaceAllString(printed, "1s")
	printed = ports.ReplaceAllString(printed, "127.0.0.1:6443")
	printed = folders.ReplaceAllString(printed, "crd-server.data")
	printed = spaces.ReplaceAllString(printed, " ")
	return strings.TrimSpace(lineEnds.ReplaceAllString(printed, "\n"))
}
