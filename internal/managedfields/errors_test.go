package managedfields

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

func TestBounded(t *testing.T) {
	t.Parallel()
	short := errors.New("does not fit")
	if got := bounded(short); got != short {
		t.Errorf("a short error became %v", got)
	}
	many := make(typed.ValidationErrors, 100000)
	for i := range many {
		many[i] = typed.ValidationError{Path: fmt.Sprintf(".spec[%d]", i), ErrorMessage: "expected string, got 1"}
	}
	for name, long := range map[string]error{"long": errors.New(strings.Repeat("é", 1<<20)), "many": many} {
		got := bounded(long).Error()
		if len(got) > maxErrorTextBytes+100 || len(got) < 1000 || !strings.HasPrefix(long.Error(), got[:100]) &&
			name == "long" || !strings.HasSuffix(got, "more") {
			t.Errorf("%s: %d bytes, %.200s", name, len(got), got)
		}
	}
}

// TestTypeErrorsAreBounded checks that the error for an applied object with many values of a wrong type is short.
func TestTypeErrorsAreBounded(t *testing.T) {
	t.Parallel()
	m, err := New(configOf(t, "v1", ""))
	if err != nil {
		t.Fatal(err)
	}
	tags := make([]any, 10000)
	for i := range tags {
		tags[i] = int64(i)
	}
	applied := machine(t, 1)
	applied.Object["spec"].(map[string]any)["extras"] = map[string]any{"tags": tags}
	if _, err := m.Apply(t.Context(), noMachine(), applied, "one", false); err == nil ||
		len(err.Error()) > maxErrorTextBytes+1000 {
		t.Errorf("got %.1000v", err)
	}
}
