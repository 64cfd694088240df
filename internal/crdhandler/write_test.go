package crdhandler

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// countingCodec counts the objects that are encoded for etcd.
type countingCodec struct {
	plainCodec
	count *int
}

// Encode implements stored.Codec.
func (c countingCodec) Encode(ctx context.Context, obj runtime.Object) ([]byte, *dynamicstorage.View, error) {
	*c.count++
	return c.plainCodec.Encode(ctx, obj)
}

// TestWriteStopsAfterClientDisconnects checks that a write does not enter its next phase after its client has
// disconnected.
func TestWriteStopsAfterClientDisconnects(t *testing.T) {
	t.Parallel()
	strategy := &widgetStrategy{}
	encoded := 0
	f := newWrites(t, func(f *writes) {
		f.scope.Strategy = strategy
		f.scope.Objects.Codec = countingCodec{count: &encoded}
	})
	a := f.created("a", "")
	const apply = "application/apply-patch+yaml"
	for _, write := range []struct{ method, path, contentType, body string }{
		{"POST", "", "application/json", widget("b", "", `{"size":2}`)},
		{"PUT", "/a", "application/json", widget("a", `"resourceVersion":"`+a.GetResourceVersion()+`"`, `{"size":2}`)},
		{"PATCH", "/a", "application/merge-patch+json", `{"spec":{"size":2}}`},
		{"PATCH", "/a?fieldManager=m&force=true", apply, widget("a", "", `{"size":2}`)},
		{"PATCH", "/b?fieldManager=m", apply, widget("b", "", `{"size":2}`)},
	} {
		for _, phase := range []string{"preparation", "validation"} {
			t.Run(write.method+" "+write.contentType+write.path+" after "+phase, func(t *testing.T) {
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				validated := 0
				strategy.prepared, strategy.validated = func() {}, func() { validated++; leave() }
				if phase == "preparation" {
					strategy.prepared = leave
				}
				encoded = 0
				req := httptest.NewRequestWithContext(ctx, write.method,
					"/apis/example.com/v1/namespaces/ns/widgets"+write.path, strings.NewReader(write.body))
				req.Header.Set("Content-Type", write.contentType)
				w := httptest.NewRecorder()
				requestInfo(f).ServeHTTP(w, req)
				if w.Code != 504 {
					t.Errorf("got %d %s", w.Code, w.Body)
				}
				if want := map[string]int{"preparation": 0, "validation": 1}[phase]; validated != want {
					t.Errorf("validated %d times", validated)
				}
				if encoded > 0 {
					t.Error("encoded")
				}
			})
		}
	}
}

// TestFinished checks the errors of writes that failed in the storage or ended with the context.
func TestFinished(t *testing.T) {
	t.Parallel()
	late, cancel := context.WithDeadline(t.Context(), metav1.Now().Add(-1))
	defer cancel()
	failure := errors.New("failure")
	wantStatus(t, finished(late, failure), 504, metav1.StatusReasonTimeout,
		"Timeout: request did not complete within requested timeout - context deadline exceeded")
	if err := finished(late, nil); err != nil {
		t.Errorf("a write that is done: got %v", err)
	}
	if err := finished(t.Context(), failure); err != failure {
		t.Errorf("any other failure: got %v", err)
	}
	if err := finished(t.Context(), fmt.Errorf("writing: %w", dynamicstorage.ErrTooLarge)); err != stored.ErrTooLarge {
		t.Errorf("too large: got %v", err)
	}
}

// wantStatus checks the code, reason and message of an API error.
func wantStatus(t *testing.T, err error, code int32, reason metav1.StatusReason, message string) {
	t.Helper()
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		t.Fatalf("got %v, want a Status", err)
	}
	got := status.Status()
	if got.Code != code || got.Reason != reason || got.Message != message {
		t.Errorf("got %d %s %q\nwant %d %s %q", got.Code, got.Reason, got.Message, code, reason, message)
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
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
