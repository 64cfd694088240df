package conversion

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crd-server/crd-server/internal/boundedhttp"
)

// TestEndlessWebhookResponse checks that a response without an end fails at the size limit, and that memory is bounded.
// It does not run in parallel, because it counts the allocations of the process.
func TestEndlessWebhookResponse(t *testing.T) {
	sent := make(chan int64, 1)
	conversion := startServer(t, func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		block, total := strings.Repeat("x", 64<<10), int64(0)
		_, _ = io.WriteString(w, `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"`)
		for total < 1<<30 {
			n, err := io.WriteString(w, block)
			if total += int64(n); err != nil {
				break
			}
		}
		sent <- total
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := newConverter(t, newCRD(conversion)).Convert(t.Context(),
		[]*unstructured.Unstructured{newObject(v1, "a", nil)}, v2)
	runtime.ReadMemStats(&after)
	if err == nil || !strings.Contains(err.Error(), boundedhttp.ErrTooLarge.Error()) {
		t.Errorf("got error %v", err)
	}
	if total := <-sent; total > 64<<20 {
		t.Errorf("%d bytes were read from the webhook", total)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 32*boundedhttp.Floor {
		t.Errorf("%d bytes were allocated", allocated)
	}
}

// TestWebhookThatHangs checks that a conversion that waits for a webhook ends with its own context.
func TestWebhookThatHangs(t *testing.T) {
	t.Parallel()
	asked, end := make(chan struct{}, 2*maxCalls), make(chan struct{})
	conversion := startServer(t, func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body)
		asked <- struct{}{}
		<-end
	})
	t.Cleanup(func() { close(end) }) // before the server is closed, which waits for its requests
	converter := newConverter(t, newCRD(conversion))
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	const waiting = maxCalls + 10 // some wait for the response, the others for a free call
	for range waiting {
		go func() {
			_, err := converter.Convert(ctx, []*unstructured.Unstructured{newObject(v1, "a", nil)}, v2)
			failed <- err
		}()
	}
	for range maxCalls {
		<-asked
	}
	cancel()
	for range waiting {
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v", err)
		}
	}
}

// TestRetryAfterIsIgnored checks that a webhook cannot make the server wait for another try.
func TestRetryAfterIsIgnored(t *testing.T) {
	t.Parallel()
	calls := 0
	conversion := startServer(t, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	_, err := newConverter(t, newCRD(conversion)).Convert(t.Context(),
		[]*unstructured.Unstructured{newObject(v1, "a", nil)}, v2)
	if err == nil || calls != 1 {
		t.Errorf("%d calls, error %v", calls, err)
	}
}

// FuzzWebhookAnswer checks that any response of a webhook is refused or contains the requested objects.
func FuzzWebhookAnswer(f *testing.F) {
	const head = `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"UID",` +
		`"result":{"status":"Success"},"convertedObjects":[`
	const object = `{"apiVersion":"example.com/v2","kind":"Widget","metadata":{"name":"a","namespace":"default",` +
		`"uid":"uid-a"}`
	for _, answer := range []string{
		``, `{}`, `null`, head + `null,null]}}`, head + object + `},` + object + `}]}}`, head + `{},1]}}`,
		head + object + `,"items":[{}]},` + object + `,"spec":null}]}}`,
		head + object + `,"spec":{"colour":{"a":[[]]}}},` + object + `,"metadata":{"labels":7}}]}}`,
		`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1beta1","response":{"convertedObjects":[{}]}}`,
		`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"x"}`, head + strings.Repeat("[", 100), "k8s\x00",
	} {
		f.Add(200, answer, false)
		f.Add(200, answer, true)
		f.Add(500, answer, true)
	}
	answers := make(chan func(http.ResponseWriter, *http.Request), 1)
	conversion := startServer(f, func(w http.ResponseWriter, req *http.Request) { (<-answers)(w, req) })
	converter := newConverter(f, newCRD(conversion))
	f.Fuzz(func(t *testing.T, code int, answer string, two bool) {
		if code < 200 || code > 599 {
			t.Skip("not a status")
		}
		answers <- func(w http.ResponseWriter, req *http.Request) {
			question, _ := io.ReadAll(req.Body)
			_, uid, _ := strings.Cut(string(question), `"uid":"`)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, strings.ReplaceAll(answer, "UID", uid[:36]))
		}
		objs := []*unstructured.Unstructured{newObject(v1, "a", nil)}
		if two {
			objs = append(objs, newObject(v1, "a", nil))
		}
		converted, err := converter.Convert(t.Context(), objs, v2)
		if err != nil {
			if len(answers) > 0 { // no request was sent
				<-answers
			}
			if strings.Contains(err.Error(), "panic") {
				t.Error(err)
			}
			return
		}
		for _, obj := range converted {
			if obj.GetAPIVersion() != v2.String() || obj.GetKind() != "Widget" || obj.GetName() != "a" ||
				obj.GetUID() != "uid-a" {
				t.Errorf("converted to %v", obj)
			}
			if _, err := obj.MarshalJSON(); err != nil {
				t.Error(err)
			}
		}
	})
}
