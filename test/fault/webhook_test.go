package fault

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
)

// converter is a conversion webhook that works, hangs or refuses.
type converter struct {
	mode  atomic.Value // "works", "hangs", "refuses"
	asked atomic.Int64
}

func (c *converter) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	c.asked.Add(1)
	for c.mode.Load() == "hangs" {
		pause(req.Context(), 20*time.Millisecond)
	}
	if c.mode.Load() == "refuses" {
		http.Error(w, "no", http.StatusInternalServerError)
		return
	}
	var review struct {
		Request struct {
			UID               string           `json:"uid"`
			DesiredAPIVersion string           `json:"desiredAPIVersion"`
			Objects           []map[string]any `json:"objects"`
		} `json:"request"`
	}
	if err := json.NewDecoder(req.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, object := range review.Request.Objects {
		object["apiVersion"] = review.Request.DesiredAPIVersion
	}
	w.Header().Set("Content-Type", asJSON)
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1",
		"response": map[string]any{
			"uid": review.Request.UID, "result": map[string]string{"status": "Success"},
			"convertedObjects": review.Request.Objects}})
}

const (
	cellsV2    = "/apis/" + group + "/v2/namespaces/fault/" + plural
	asMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// TestConversionWebhook breaks a conversion webhook in three ways. Requests that do not need it must work without
// calling it; requests that need it must be refused, and in time.
func TestConversionWebhook(t *testing.T) {
	besideOthers(t)
	defer written.outcome(t, time.Now())
	hook := &converter{}
	hook.mode.Store("works")
	web := httptest.NewTLSServer(hook)
	t.Cleanup(web.Close)
	t.Cleanup(func() { hook.mode.Store("refuses") }) // no request waits for the webhook while the server stops
	server := startServer(t, process.Options{Binary: programs.Server(), DataDir: filepath.Join(t.TempDir(), "data")})
	c := newClient(t, server)
	for _, mode := range []string{"refuses", "hangs", "down"} {
		t.Run(mode, func(t *testing.T) {
			hook.mode.Store("works")
			c.must(t, http.StatusCreated, http.MethodPost, definitions, asJSON, twoVersions(t, web))
			for n := range 5 {
				c.must(t, http.StatusCreated, http.MethodPost, cells, asJSON, body(fmt.Sprintf("cell-%d", n), "x", 0))
			}
			c.must(t, http.StatusCreated, http.MethodPost, cellsV2, asJSON,
				[]byte(strings.Replace(string(body("second", "x", 0)), "/v1", "/v2", 1)))
			if hook.mode.Store(mode); mode == "down" {
				web.Close()
			}
			c.withoutWebhook(t, hook)
		})
	}
}

// withoutWebhook sends requests that do not need the webhook, and requests that do.
func (c *client) withoutWebhook(t *testing.T, hook *converter) {
	t.Helper()
	hangs := hook.mode.Load() == "hangs"
	alone := func(method, path, mediaType string, content []byte) {
		t.Helper()
		before := hook.asked.Load()
		if c.must(t, http.StatusOK, method, path, mediaType, content); hook.asked.Load() != before {
			t.Errorf("%s %s: the webhook was asked", method, path)
		}
	}
	alone(http.MethodGet, cells, "", nil)
	alone(http.MethodGet, cells+"/second", "", nil)
	alone(http.MethodPatch, cells+"/cell-0", asMergePatch, []byte(`{"spec":{"value":"y"}}`))
	alone(http.MethodDelete, cells+"/cell-1", "", nil)
	alone(http.MethodDelete, cells+"?fieldSelector=metadata.name%3Dcell-2", "", nil)
	c.metadataWithoutWebhook(t)
	for _, path := range []string{cellsV2, cellsV2 + "/cell-0"} {
		ask := c.ask
		if hangs {
			ask = c.askBriefly
		}
		if failed := ask(t, http.MethodGet, path, nil); failed.code < 500 {
			t.Errorf("%s: %+v", path, failed)
		}
	}
	crd := definitions + "/" + plural + "." + group
	if hangs {
		// the webhook may still get requests that were abandoned
		c.must(t, http.StatusOK, http.MethodDelete, crd, "", nil)
	} else {
		alone(http.MethodDelete, crd, "", nil)
	}
	waitFor(t, "the CRD is gone", func() bool { return c.ask(t, http.MethodGet, crd, nil).code == http.StatusNotFound })
}

// metadataWithoutWebhook lists metadata in the stored version, which needs no webhook, and in another one.
func (c *client) metadataWithoutWebhook(t *testing.T) {
	t.Helper()
	for _, path := range []string{cells, cellsV2 + "?timeout=2s"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", asMetadata)
		began := time.Now()
		resp, err := c.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		written.add(t, "metadata at %s: %d after %s", path, resp.StatusCode, time.Since(began).Round(time.Millisecond))
		if path == cells && resp.StatusCode != http.StatusOK || path != cells && resp.StatusCode < 500 {
			t.Errorf("metadata at %s: %d", path, resp.StatusCode)
		}
	}
}

// twoVersions returns the CRD with a second version, converted by a webhook.
func twoVersions(t *testing.T, web *httptest.Server) []byte {
	t.Helper()
	var crd map[string]any
	if err := json.Unmarshal([]byte(definition), &crd); err != nil {
		t.Fatal(err)
	}
	spec := crd["spec"].(map[string]any)
	versions := spec["versions"].([]any)
	spec["versions"] = append(versions, map[string]any{"name": "v2", "served": true, "storage": false,
		"schema": versions[0].(map[string]any)["schema"]})
	spec["conversion"] = map[string]any{"strategy": "Webhook",
		"webhook": map[string]any{"conversionReviewVersions": []string{"v1"}, "clientConfig": map[string]any{
			"url": web.URL, "caBundle": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
				Bytes: web.Certificate().Raw})}}}
	encoded, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}
