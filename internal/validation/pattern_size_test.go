package validation

import (
	"regexp"
	"regexp/syntax"
	"runtime"
	"strings"
	"testing"
)

func TestPatternSize(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]int{
		"": 0, "abc": 3, "a{10}": 10, "(a{10}){10}": 110, "a{2,5}": 8, "a{3,}": 5, "(": 0, "a{1001}": 0,
		strings.Repeat("a", maxPatternLength+1): (maxPatternLength + 1) * maxRepetitions,
	} {
		if got := PatternSize(pattern); got != want {
			t.Errorf("%.30s: got %d, want %d", pattern, got, want)
		}
	}
}

// openshiftHostname is a pattern of ingresses.config.openshift.io.
const openshiftHostname = `^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}]` +
	`(([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$|` +
	`^(([a-z0-9][-a-z0-9]{0,61}[a-z0-9]|[a-z0-9]{1,63})[\.]){0,}([a-z0-9][-a-z0-9]{0,61}[a-z0-9]|[a-z0-9]{1,63})$`

// TestPatternSizeIsWhatPatternsTake compares sizes with compiled patterns: not less than half of their instructions,
// and not more than two and a half times the memory.
func TestPatternSizeIsWhatPatternsTake(t *testing.T) {
	for _, pattern := range []string{
		openshiftHostname, "(a{100}){10}", `\p{L}{900}`, `(\p{L}-?){0,300}`, `^\p{L}{300}$`, `^[a-z]{1,900}$`,
		`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$`,
	} {
		size := PatternSize(pattern)
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		program, err := syntax.Compile(parsed.Simplify())
		if err != nil {
			t.Fatal(err)
		}
		var kept [32]*regexp.Regexp
		before := liveHeap()
		for i := range kept {
			kept[i] = regexp.MustCompile(pattern)
		}
		bytes := (liveHeap() - before) / int64(len(kept))
		runtime.KeepAlive(kept)
		t.Logf("%.40s: size %d, %d instructions, %d bytes", pattern, size, len(program.Inst), bytes)
		if size < len(program.Inst)/2 || int64(size)*40 > bytes*5/2 {
			t.Errorf("%.40s: size %d, %d instructions, %d bytes", pattern, size, len(program.Inst), bytes)
		}
	}
}
