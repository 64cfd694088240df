package server

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestLargeRequestsTakeTurns holds the memory for large requests, by one that waits for a webhook. It checks which
// requests wait for that memory and which do not need it.
func TestLargeRequestsTakeTurns(t *testing.T) {
	t.Parallel()
	h := newHooks(t)
	s := startWhole(t, "--authorization-mode=AlwaysAllow", "--max-request-memory=100Mi",
		"--admission-control-config-file", admissionConfig(t, map[string]string{
			"ValidatingAdmissionWebhook/all.yaml": `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validating.static.k8s.io}
webhooks:` + h.webhook("slow", "", ofTables, "  timeoutSeconds: 30\n"),
		}))
	s.root().withTables()
	jane := s.person("jane")
	large := strings.Repeat("x", 40<<10)
	sized := func(name, text string, labels ...string) string {
		return strings.Replace(table(name, 1, labels...), `"legs"`, `"seen":["`+text+`"],"legs"`, 1)
	}
	for name, text := range map[string]string{"small": "", "large": large} {
		jane.must(http.StatusCreated, http.MethodPost, tablesPath, sized(name, text))
	}

	holding, release := context.WithCancel(t.Context())
	held := make(chan struct{})
	go func() { // ends when the request is cancelled
		defer close(held)
		client, url := s.as("peter")
		req, err := http.NewRequestWithContext(holding, http.MethodPost, url+tablesPath,
			strings.NewReader(sized("held", large, "slow", "")))
		if err != nil {
			return
		}
		req.Header.Set("Content-Type", "application/json")
		if response, err := client.Do(req); err == nil {
			response.Body.Close()
		}
	}()
	waitUntil(t, "the webhook is called", func() bool { return len(h.take()) > 0 })

	const merge, asTable, asYAML = "application/merge-patch+json", "application/json;as=Table;v=v1;g=meta.k8s.io",
		"application/yaml"
	var waiting sync.WaitGroup
	for _, test := range []struct {
		name, method, path, body, mediaType, accept string
		waits                                       bool
	}{
		{"large body", http.MethodPost, "", sized("new", large), "application/json", "", true},
		{"small patch of a large object", http.MethodPatch, "/large", `{"spec":{"legs":2}}`, merge, "", true},
		{"deletion of a large object", http.MethodDelete, "/large", "", "", "", true},
		{"deletion of all", http.MethodDelete, "", "", "", "", true},
		{"large object as YAML", http.MethodGet, "/large", "", "", asYAML, true},
		{"large list as Table", http.MethodGet, "", "", "", asTable, true},
		{"YAML with aliases", http.MethodPost, "", sized("new", "&*"), "application/yaml", "", true},
		{"small body", http.MethodPost, "?dryRun=All", sized("new", ""), "application/json", "", false},
		{"small patch", http.MethodPatch, "/small", `{"spec":{"legs":2}}`, merge, "", false},
		{"large object", http.MethodGet, "/large", "", "", "", false},
		{"large list", http.MethodGet, "", "", "", "", false},
		{"small object as Table", http.MethodGet, "/small", "", "", asTable, false},
	} {
		check := func() {
			got := jane.send(test.method, tablesPath+test.path, test.body, "Content-Type", test.mediaType, "Accept", test.accept)
			if refused := got.code == http.StatusTooManyRequests; refused != test.waits || !refused && got.code >= 300 {
				t.Errorf("%s: %d %.300s", test.name, got.code, got.body)
			} else if refused && (got.header.Get("Retry-After") != "1" ||
				!strings.Contains(got.body, string(metav1.StatusReasonTooManyRequests))) {
				t.Errorf("%s: %v %s", test.name, got.header, got.body)
			}
		}
		if !test.waits {
			check()
			continue
		}
		// A request waits for a quarter of its time. The rest is for the answer, on a machine that has much else to do.
		test.path += "?timeout=12s"
		waiting.Go(check)
	}
	waiting.Wait()
	jane.must(http.StatusOK, http.MethodGet, "/readyz", "")
	const counter = `crd_server_request_budget_exceeded_total{limit="memory-in-flight"}`
	if got := s.root().must(http.StatusOK, http.MethodGet, "/metrics", ""); !strings.Contains(got.body, counter) {
		t.Errorf("refusals are not counted in %s", counter)
	}
	release()
	<-held
	jane.must(http.StatusCreated, http.MethodPost, tablesPath, sized("new", large))
	jane.must(http.StatusOK, http.MethodGet, tablesPath+"/large", "", "Accept", asYAML)
}
