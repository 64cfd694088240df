package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// block is a fenced part of a page, or a comment with commands.
type block struct {
	line     int
	language string
	text     string
	// skipped: a comment says why the block cannot run.
	skipped bool
}

const (
	// setup is the language of a comment with commands.
	setup      = "setup"
	setupBegin = "<!-- run:"
	commentEnd = "-->"
	fence      = "```"
)

// languages are those of fences. Only sh and console have commands.
var languages = []string{setup, "sh", "console", "text", "yaml", "json", "go", "ini", "dockerfile"}

// reason is the line before commands that do not run.
var reason = regexp.MustCompile(`^<!-- not run: \S.* -->$`)

// parse returns the blocks of a page. It fails for a fence that doc.go does not allow.
func parse(page string) ([]block, error) {
	var blocks []block
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		trimmed := strings.TrimLeft(lines[i], " ")
		indent := lines[i][:len(lines[i])-len(trimmed)]
		found := block{line: i + 1, skipped: i > 0 && reason.MatchString(strings.TrimSpace(lines[i-1]))}
		var end string
		switch {
		case strings.HasPrefix(trimmed, fence):
			found.language, end = strings.TrimPrefix(trimmed, fence), fence
		case trimmed == setupBegin:
			found.language, end = setup, commentEnd
		default:
			continue
		}
		if !slices.Contains(languages, found.language) {
			return nil, fmt.Errorf("line %d: a fence must not be %q; see the comment of package test/docs", i+1, found.language)
		}
		var content []string
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != end; i++ {
			content = append(content, strings.TrimPrefix(lines[i], indent))
		}
		if i == len(lines) {
			return nil, fmt.Errorf("line %d: the block has no end", found.line)
		}
		found.text = strings.Join(content, "\n")
		blocks = append(blocks, found)
	}
	return blocks, nil
}

// step is a command of a console block, and what it prints.
type step struct{ command, want string }

// steps takes a console block apart.
func steps(text string) []step {
	var all []step
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			all = append(all, step{command: strings.TrimSpace(command)})
		} else if len(all) > 0 {
			all[len(all)-1].want += line
		}
	}
	return all
}

func TestParse(t *testing.T) {
	t.Parallel()
	blocks, err := parse("a\n<!-- run:\none\n-->\n\n  ```sh\n  two\n    three\n  ```\n" +
		"<!-- not run: x -->\n```console\n$ five\nsix\n```\n")
	want := []block{{2, setup, "one", false}, {6, "sh", "two\n  three", false}, {11, "console", "$ five\nsix", true}}
	if err != nil || !slices.Equal(blocks, want) {
		t.Errorf("got %v, %v", blocks, err)
	}
	if got := steps("$ a\nb\nc\n\n$ d"); !slices.Equal(got, []step{{"a", "b\nc\n\n"}, {"d", ""}}) {
		t.Errorf("got %q", got)
	}
	for _, page := range []string{"```\na\n```", "```sh\na", "```bash\na\n```", "<!-- run:\na"} {
		if blocks, err := parse(page); err == nil {
			t.Errorf("%q: got %v", page, blocks)
		}
	}
}
