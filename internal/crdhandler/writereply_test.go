package crdhandler

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// call is one request to a server of widgets.
type call struct {
	method, path, body string
	contentType        string // JSON if empty
	agent              string
}

// reply is the response to a call.
type reply struct {
	*testing.T
	code     int
	warnings []string
	text     string
	obj      *unstructured.Unstructured
}

func (f *writes) do(c call) reply {
	f.Helper()
	req, err := http.NewRequestWithContext(f.Context(), c.method, f.url+c.path, strings.NewReader(c.body))
	if err != nil {
		f.Fatal(err)
	}
	if c.contentType == "" {
		c.contentType = runtime.ContentTypeJSON
	}
	if c.agent == "" {
		c.agent = "tester/1"
	}
	req.Header.Set("Content-Type", c.contentType)
	req.Header.Set("User-Agent", c.agent)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		f.Fatal(err)
	}
	r := reply{T: f.T, code: resp.StatusCode, warnings: resp.Header.Values("Warning"), text: string(text),
		obj: &unstructured.Unstructured{}}
	if err := utiljson.Unmarshal(text, &r.obj.Object); err != nil {
		f.Fatalf("%s %s: %v: %s", c.method, c.path, err, text)
	}
	return r
}

// is checks the code of a response that is not an error.
func (r reply) is(code int) reply {
	r.Helper()
	if r.code != code {
		r.Fatalf("got %d %s, want %d", r.code, r.text, code)
	}
	return r
}

// fails checks a response that is an error.
func (r reply) fails(code int, reason metav1.StatusReason, message string) metav1.Status {
	r.Helper()
	status := metav1.Status{}
	if err := json.Unmarshal([]byte(r.text), &status); err != nil {
		r.Fatal(err)
	}
	if r.code != code || status.Reason != reason || status.Message != message {
		r.Errorf("got %d %q %q\nwant %d %q %q", r.code, status.Reason, status.Message, code, reason, message)
	}
	return status
}

// warns checks the Warning headers of a response.
func (r reply) warns(texts ...string) reply {
	r.Helper()
	if len(r.warnings) != len(texts) {
		r.Errorf("got warnings %q, want %q", r.warnings, texts)
		return r
	}
	for n, text := range texts {
		if !strings.Contains(r.warnings[n], text) {
			r.Errorf("got warning %q, want %q", r.warnings[n], text)
		}
	}
	return r
}
