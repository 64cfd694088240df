package crdhandler

import (
	"context"
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

func TestFinished(t *testing.T) {
	late, cancel := context.WithDeadline(t.Context(), metav1.Now().Add(-1))
	defer cancel()
	failure := errors.New("failure")
	wantStatus(t, finished(late, failure), 504, metav1.StatusReasonTimeout, "Timeout: request did not complete within requested timeout - context deadline exceeded")
	if err := finished(late, nil); err != nil {
		t.Errorf("a write that is done: got %v", err)
	}
	if err := finished(t.Context(), failure); err != failure {
		t.Errorf("any other failure: got %v", err)
	}
	if err := finished(t.Context(), fmt.Errorf("writing: %w", dynamicstorage.ErrTooLarge)); err != errTooLarge {
		t.Errorf("too large: got %v", err)
	}
}

func TestSummary(t *testing.T) {
	tests := []struct{ body, want string }{
		{"", "<empty>"},
		{`{"a":1}`, `{"a":1}`},
		{`{"a":"0123456789012345678901234567890"}`, `{"a":"012345678901234567890123 ...`},
		{"k8s\x00", "6b387300"},
		{"0123456789012345678901234567890", "303132333435363738393031323334353637383930313233343536373839 ..."},
	}
	for _, test := range tests {
		if got := summary([]byte(test.body)); got != test.want {
			t.Errorf("%q: got %q, want %q", test.body, got, test.want)
		}
	}
}
