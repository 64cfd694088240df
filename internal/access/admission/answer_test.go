package admission

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crd-server/crd-server/internal/boundedhttp"
)

// mutating returns an Admission with one webhook.
func mutating(t testing.TB, failurePolicy string, serve http.HandlerFunc) *Admission {
	t.Helper()
	server := httptest.NewTLSServer(serve)
	t.Cleanup(server.Close)
	dir := files(t, map[string]string{"config.yaml": webhookConfiguration,
		"webhooks/legs.yaml": mutatedBy(server, failurePolicy)})
	return start(t, Options{ConfigFile: filepath.Join(dir, "config.yaml")})
}

// TestEndlessWebhookResponse checks that a response without an end is a failure of the webhook, so that its failure
// policy decides.
func TestEndlessWebhookResponse(t *testing.T) {
	for policy, passes := range map[string]bool{"Fail": false, "Ignore": true} {
		t.Run(policy, func(t *testing.T) {
			sent := make(chan int64, 1)
			a := mutating(t, policy, func(w http.ResponseWriter, req *http.Request) {
				_, _ = io.Copy(io.Discard, req.Body)
				block, total := strings.Repeat("x", 64<<10), int64(0)
				_, _ = io.WriteString(w, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"`)
				for total < 1<<30 {
					n, err := io.WriteString(w, block)
					if total += int64(n); err != nil {
						break
					}
				}
				sent <- total
			})
			table, err := a.create(t, "open", 4)
			if passes && (err != nil || table == nil) || !passes &&
				(err == nil || !strings.Contains(err.Error(), boundedhttp.ErrTooLarge.Error())) {
				t.Errorf("got %v, %v", table, err)
			}
			if total := <-sent; total > 8*boundedhttp.Floor {
				t.Errorf("%d bytes were read from the webhook", total)
			}
		})
	}
}

// FuzzAnswer sends any response of a webhook. Nothing may panic, and an admitted object must have its kind.
func FuzzAnswer(f *testing.F) {
	patched := func(patch string) string {
		return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"UID","allowed":true,` +
			`"patchType":"JSONPatch","patch":"` +
			base64.StdEncoding.EncodeToString([]byte(patch)) + `"}}`
	}
	for _, answer := range []string{
		``, `{}`, `null`, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"x"}`,
		`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`,
		`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"other","allowed":true}}`,
		`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"UID","allowed":true,` +
			`"warnings":["\u0000"],"auditAnnotations":{"a":"b"}}}`,
		`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"UID","allowed":false,` +
			`"status":{"code":99999,"message":"no"}}}`,
		`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","response":{"uid":"UID","allowed":true}}`,
		patched(`[{"op":"replace","path":"/spec/legs","value":5}]`), patched(`[{"op":"remove","path":"/metadata"}]`),
		patched(`[{"op":"replace","path":"","value":null}]`),
		patched(`[{"op":"replace","path":"/kind","value":"Chair"}]`),
		patched(`[{"op":"copy","from":"","path":"/spec/self"},{"op":"copy","from":"","path":"/spec/self2"}]`),
		patched(`[{"op":"add","path":"/spec/list/99999999999999999999","value":[]}]`), patched(`{}`), "k8s\x00",
	} {
		f.Add(200, answer)
		f.Add(500, answer)
	}
	next := make(chan func(http.ResponseWriter, *http.Request), 1)
	a := mutating(f, "Fail", func(w http.ResponseWriter, req *http.Request) { (<-next)(w, req) })
	f.Fuzz(func(t *testing.T, code int, answer string) {
		if code < 200 || code > 599 {
			t.Skip("not a status")
		}
		next <- func(w http.ResponseWriter, req *http.Request) {
			question, _ := io.ReadAll(req.Body)
			_, uid, _ := strings.Cut(string(question), `"uid":"`)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, strings.ReplaceAll(answer, "UID", uid[:36]))
		}
		table, err := a.create(t, "open", 4)
		if err != nil {
			if strings.Contains(err.Error(), "panic") {
				t.Error(err)
			}
			return
		}
		if _, err := table.MarshalJSON(); err != nil {
			t.Error(err)
		}
	})
}
