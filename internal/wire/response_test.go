package wire

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestResponseCompression(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		accept     string
		size       int
		compressed bool
	}{
		"short":            {"gzip", 100, false},
		"at threshold":     {"gzip", GzipThreshold, false},
		"above threshold":  {"deflate, gzip", GzipThreshold + 1, true},
		"long":             {"gzip", 10 * GzipThreshold, true},
		"long, no gzip":    {"", 10 * GzipThreshold, false},
		"long, other only": {"br", 10 * GzipThreshold, false},
		"empty":            {"gzip", 0, false},
	} {
		body := bytes.Repeat([]byte("abcdefghij"), tc.size/10+1)[:tc.size]
		t.Run(name, func(t *testing.T) {
			checkCompression(t, tc.accept, body, tc.compressed, func(w http.ResponseWriter, req *http.Request) error {
				return WriteBody(w, req, http.StatusOK, JSON, body)
			})
		})
	}
}

func TestLargeObjects(t *testing.T) {
	t.Parallel()
	for _, size := range []int{10, GzipThreshold - 40, GzipThreshold - 39, 10 * GzipThreshold} {
		head := `{"metadata":{`
		o := Object{Bytes: []byte(head + `"uid":"1"},"spec":"` + strings.Repeat("x", size) + `"}`), At: len(head),
			Revision: 7}
		body := o.Encode(nil, false)
		for _, accept := range []string{"", "gzip"} {
			compressed := accept != "" && len(body) > GzipThreshold
			checkCompression(t, accept, body, compressed, func(w http.ResponseWriter, req *http.Request) error {
				return o.respondUncopied(w, req, http.StatusOK)
			})
		}
	}
}

func checkCompression(t *testing.T, accept string, body []byte, compressed bool,
	send func(http.ResponseWriter, *http.Request) error) {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.Header.Set("Accept-Encoding", accept)
	w := httptest.NewRecorder()
	if err := send(w, req); err != nil {
		t.Fatal(err)
	}
	got := w.Body.Bytes()
	header := w.Result().Header
	if is := header.Get("Content-Encoding") == "gzip"; is != compressed {
		t.Fatalf("compressed: %t, want %t", is, compressed)
	}
	if is := header.Get("Vary") == "Accept-Encoding"; is != compressed {
		t.Errorf("Vary: %q", header.Get("Vary"))
	}
	if header.Get("Content-Type") != JSON {
		t.Errorf("Content-Type: %q", header.Get("Content-Type"))
	}
	if compressed {
		got = unzipped(t, got)
	}
	if !bytes.Equal(got, body) {
		t.Errorf("body of %d bytes arrived as %d", len(body), len(got))
	}
}

// TestFailedBodyIsNotEnded checks that a client notices that a body is incomplete.
func TestFailedBodyIsNotEnded(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	w := httptest.NewRecorder()
	err := WriteGzip(w, http.StatusOK, JSON, func(body *Gzip) error {
		if _, err := body.Write(make([]byte, 1<<20)); err != nil {
			return err
		}
		return broken
	})
	if err != broken { //nolint:errorlint // not wrapped
		t.Errorf("error %v", err)
	}
	if r, err := gzip.NewReader(w.Body); err == nil {
		if _, err = io.ReadAll(r); err == nil {
			t.Error("the body has an end")
		}
	}
}

func TestReadBody(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body    string
		limit   int64
		unknown bool
		tooMuch bool
	}{
		"empty":                {"", 10, false, false},
		"at limit":             {"0123456789", 10, false, false},
		"above":                {"0123456789a", 10, false, true},
		"above, length hidden": {"0123456789a", 10, true, true},
		"no limit":             {strings.Repeat("x", 1000), 0, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(tc.body))
			if tc.unknown {
				req.ContentLength = -1
			}
			got, err := ReadBody(req, tc.limit)
			if tc.tooMuch {
				if !apierrors.IsRequestEntityTooLargeError(err) || !strings.Contains(err.Error(), "limit is 10") {
					t.Fatalf("error %v", err)
				}
				return
			}
			if err != nil || string(got) != tc.body {
				t.Fatalf("got %q, %v", got, err)
			}
		})
	}
}

func TestReadBodyReturnsReadErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	req := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader("x"), failing{broken}))
	if _, err := ReadBody(req, 10); err != broken { //nolint:errorlint // not wrapped
		t.Errorf("error %v", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
