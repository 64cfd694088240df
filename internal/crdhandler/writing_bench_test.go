package crdhandler

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"github.com/crd-server/crd-server/internal/conversion"
	"github.com/crd-server/crd-server/internal/crdhandler/schemas"
	"github.com/crd-server/crd-server/internal/crdhandler/write"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/etcdtest"
)

// machineCRD is a CRD with the usual features: defaults, a list with keys, a CEL rule, status and scale.
const machineCRD = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
"metadata": {"name": "machines.example.com", "uid": "machines"},
"spec": {"group": "example.com", "scope": "Namespaced", "conversion": {"strategy": "None"},
 "names": {"plural": "machines", "singular": "machine", "kind": "Machine", "listKind": "MachineList"},
 "versions": [{"name": "v1", "served": true, "storage": true,
  "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
  "statusReplicasPath": ".status.replicas"}},
  "schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {
   "spec": {"type": "object", "required": ["maxReplicas"],
    "x-kubernetes-validations": [{"rule": "self.replicas <= self.maxReplicas",
      "message": "replicas must not exceed maxReplicas"}],
    "properties": {
     "replicas": {"type": "integer", "default": 1, "minimum": 0},
     "maxReplicas": {"type": "integer", "minimum": 0},
     "paused": {"type": "boolean", "default": false},
     "strategy": {"type": "object", "default": {}, "properties": {
      "type": {"type": "string", "enum": ["Rolling", "Recreate"], "default": "Rolling"},
      "maxSurge": {"type": "integer", "default": 1}}},
     "parts": {"type": "array", "maxItems": 64, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
      "items": {"type": "object", "required": ["name", "image"], "properties": {
       "name": {"type": "string", "maxLength": 63, "pattern": "^[a-z0-9-]+$"},
       "image": {"type": "string", "maxLength": 512},
       "port": {"type": "integer", "minimum": 1, "maximum": 65535},
       "protocol": {"type": "string", "enum": ["TCP", "UDP"], "default": "TCP"}}}}}},
   "status": {"type": "object", "properties": {
    "phase": {"type": "string"}, "replicas": {"type": "integer"},
    "conditions": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
     "items": {"type": "object", "required": ["type", "status"], "properties": {
      "type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"},
      "message": {"type": "string"},
      "lastTransitionTime": {"type": "string", "format": "date-time"}}}}}}}}}}]},
"status": {"acceptedNames": {"plural": "machines", "singular": "machine", "kind": "Machine", "listKind": "MachineList"},
 "storedVersions": ["v1"]}}`

// machine returns a Machine as a client sends it. It takes about 2.3 KB in etcd.
func machine(name string, replicas int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"apiVersion":"example.com/v1","kind":"Machine","metadata":{"name":"%s","namespace":"ns",`+
		`"labels":{"app.kubernetes.io/name":"machine","app.kubernetes.io/part-of":"bench","shard":"s1"}},`+
		`"spec":{"replicas":%d,"maxReplicas":1000000000,"parts":[`, name, replicas)
	for part := range 8 {
		if part > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"part-%d","image":"registry.example.com/team/part-%d:1.1","port":%d}`, part, part,
			8080+part)
	}
	b.WriteString(`]}}`)
	return b.String()
}

// infoOf returns the serving state of a CRD given as v1 JSON.
func infoOf(t testing.TB, config *Config, definition string) *crdInfo {
	t.Helper()
	entry := &dynamicstorage.Entry{Key: "machines.example.com", Revision: 1, Value: []byte(definition)}
	record, err := crds.NewRecord(entry)
	if err != nil {
		t.Fatal(err)
	}
	if config.Converters == nil {
		if config.Converters, err = conversion.NewFactory(nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	info, err := newCRDInfo(config, schemas.NewCache(0), record)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// writing serves machines without a network. Its etcd is in the process, so benchmarks include its work.
type writing struct {
	testing.TB
	served *servedVersion
	// heard are the warnings of the last response.
	heard recordedWarnings
}

// recordedWarnings are warnings in the order in which they were given.
type recordedWarnings []struct{ agent, text string }

// AddWarning implements warning.Recorder.
func (r *recordedWarnings) AddWarning(agent, text string) {
	*r = append(*r, struct{ agent, text string }{agent, text})
}

// newWriting serves machines that are in an etcd, with an admission plugin unless admits is nil.
func newWriting(t testing.TB, e *etcdtest.Etcd, admits admission.Interface) *writing {
	t.Helper()
	store := newStore(t, dynamicstorage.Options{Client: e.Client, Prefix: e.Prefix(t)})
	config := &Config{Store: store, MaxRequestBodyBytes: 3 << 20, Policy: write.Policy{Admission: admits}}
	w := &writing{TB: t, served: infoOf(t, config, machineCRD).versions["v1"]}
	w.send(http.MethodGet, "", "", "").is(w, http.StatusOK) // a list: from now on the objects are in memory
	return w
}

// send serves one request. path consists of the name of an object, empty for the collection, an optional subresource,
// and an optional query.
func (w *writing) send(method, path, contentType, body string) sent {
	w.Helper()
	return w.sendAccepting("application/json", method, path, contentType, body)
}

func (w *writing) sendAccepting(accept, method, path, contentType, body string) sent {
	w.Helper()
	path, query, _ := strings.Cut(path, "?")
	name, subresource, _ := strings.Cut(path, "/")
	info := &request.RequestInfo{
		IsResourceRequest: true, Namespace: "ns", Name: name, Subresource: subresource, APIGroup: "example.com",
		APIVersion: "v1", Resource: "machines",
		Verb: map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update",
			http.MethodPatch: "patch"}[method],
	}
	if name == "" && method == http.MethodGet {
		info.Verb = "list"
	}
	if method == http.MethodDelete {
		info.Verb = "delete"
		if name == "" {
			info.Verb = "deletecollection"
		}
	}
	w.heard = nil
	ctx := warning.WithWarningRecorder(request.WithRequestInfo(w.Context(), info), &w.heard)
	req := httptest.NewRequestWithContext(ctx, method, "/?"+query, strings.NewReader(body))
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", "bench/1")
	answer := httptest.NewRecorder()
	if subresource != "" {
		w.served.status.subresourceVerb(info.Verb)(answer, req)
	} else {
		w.served.main.verb(info.Verb, false)(answer, req)
	}
	return sent{answer}
}

// sent is a complete response.
type sent struct{ *httptest.ResponseRecorder }

func (r sent) is(t testing.TB, code int) string {
	t.Helper()
	if r.Code != code {
		t.Fatalf("got %d %s, want %d", r.Code, r.Body, code)
	}
	return r.Body.String()
}

// BenchmarkWrites measures time, bytes and allocations of writes, including etcd's.
func BenchmarkWrites(b *testing.B) {
	const (
		asJSON      = "application/json"
		appliedPath = "applied?fieldManager=applier&force=true"
	)
	w := newWriting(b, etcd, nil)
	for _, name := range []string{"updated", "patched", "status", "applied", "refused"} {
		w.send(http.MethodPost, "", asJSON, machine(name, 1)).is(w, http.StatusCreated)
	}
	w.send(http.MethodPatch, appliedPath, applyPatch, machine("applied", 1)).is(w, http.StatusOK)
	w.send(http.MethodPatch, "status/status", mergePatchType, `{"status":{"phase":"Pending"}}`).is(w, http.StatusOK)
	read, replicas := w.send(http.MethodGet, "updated", "", "").is(w, http.StatusOK), `"replicas":1,`

	n := 100
	for _, bc := range []struct {
		name string
		code int
		do   func() sent
	}{
		{"create", http.StatusCreated, func() sent {
			return w.send(http.MethodPost, "", asJSON,
				machine("m"+strconv.Itoa(n), n))
		}},
		{"update", http.StatusOK, func() sent {
			changed := fmt.Sprintf(`"replicas":%d,`, n)
			answer := w.send(http.MethodPut, "updated", asJSON, strings.Replace(read, replicas, changed, 1))
			read, replicas = answer.Body.String(), changed
			return answer
		}},
		{"merge patch", http.StatusOK, func() sent {
			return w.send(http.MethodPatch, "patched", mergePatchType, fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))
		}},
		{"status patch", http.StatusOK, func() sent {
			return w.send(http.MethodPatch, "status/status", mergePatchType,
				fmt.Sprintf(`{"status":{"replicas":%d,"phase":"Running","conditions":[`+
					`{"type":"Ready","status":"True","reason":"AllReady","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`,
					n))
		}},
		{"apply, changed", http.StatusOK, func() sent {
			return w.send(http.MethodPatch, appliedPath, applyPatch,
				machine("applied", n))
		}},
		{"apply, no change", http.StatusOK, func() sent {
			return w.send(http.MethodPatch, appliedPath, applyPatch,
				machine("applied", 1))
		}},
		{"refused by CEL", http.StatusUnprocessableEntity, func() sent {
			return w.send(http.MethodPatch, "refused", mergePatchType,
				fmt.Sprintf(`{"spec":{"replicas":%d}}`, 1000000000+n))
		}},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n++
				bc.do().is(b, bc.code)
			}
		})
	}
}
