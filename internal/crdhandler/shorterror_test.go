package crdhandler

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

func TestShortened(t *testing.T) {
	short := errors.New("does not fit")
	if got := shortened(short); got != short {
		t.Errorf("a short error is %v", got)
	}
	misfits := make(typed.ValidationErrors, 100000)
	for i := range misfits {
		misfits[i] = typed.ValidationError{Path: fmt.Sprintf(".spec[%d]", i), ErrorMessage: "expected string, got 1"}
	}
	for name, long := range map[string]error{"long": errors.New(strings.Repeat("é", 1<<20)), "many": misfits} {
		got := shortened(long).Error()
		if len(got) > longestMisfit+100 || len(got) < 1000 || !strings.HasPrefix(long.Error(), got[:100]) && name == "long" || !strings.HasSuffix(got, "more") {
			t.Errorf("%s: %d bytes, %.200s", name, len(got), got)
		}
	}
}
