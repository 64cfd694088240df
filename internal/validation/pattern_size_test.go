package validation

import (
	"strings"
	"testing"
)

func TestPatternSize(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]int{
		"": 0, "abc": 3, "a{10}": 10, "(a{10}){10}": 110, "a{2,5}": 5, "a{3,}": 4, "(": 0, "a{1001}": 0,
		strings.Repeat("a", maxPatternLength+1): (maxPatternLength + 1) * maxRepetitions,
	} {
		if got := PatternSize(pattern); got != want {
			t.Errorf("%.30s: got %d, want %d", pattern, got, want)
		}
	}
}
