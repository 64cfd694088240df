package server

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkFirstObject creates realistic CRDs one after the other, and an object of each in the next request.
func BenchmarkFirstObject(b *testing.B) {
	a := newAPIClient(b)
	var definition, object []time.Duration
	for n := 0; b.Loop(); n++ {
		began := time.Now()
		a.want(http.StatusCreated, http.MethodPost, definitionsPath, widgetDefinition(n))
		created := time.Now()
		a.want(http.StatusCreated, http.MethodPost, fmt.Sprintf("/apis/bench.example.com/v1/namespaces/default/widget%ds", n),
			widgetObject(n))
		definition, object = append(definition, created.Sub(began)), append(object, time.Since(created))
	}
	for _, of := range []struct {
		name string
		took []time.Duration
	}{{"definition", definition}, {"object", object}} {
		slices.Sort(of.took)
		b.ReportMetric(float64(of.took[len(of.took)/2].Microseconds()), "us-"+of.name+"-p50")
		b.ReportMetric(float64(of.took[len(of.took)*99/100].Microseconds()), "us-"+of.name+"-p99")
	}
}

func widgetDefinition(n int) string {
	return strings.NewReplacer("PLURAL", fmt.Sprintf("widget%ds", n), "KIND", fmt.Sprintf("Widget%d", n), "ONE",
		fmt.Sprintf("widget%d", n)).Replace(`{
"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
"metadata": {"name": "PLURAL.bench.example.com"},
"spec": {"group": "bench.example.com", "scope": "Namespaced", "names": {"plural": "PLURAL", "singular": "ONE",
"kind": "KIND", "listKind": "KINDList"},
 "versions": [{"name": "v1", "served": true, "storage": true,
  "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
  "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}},
  "additionalPrinterColumns": [{"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"}],
  "schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {
   "spec": {"type": "object", "required": ["maxReplicas"],
    "x-kubernetes-validations": [{"rule": "self.replicas <= self.maxReplicas",
      "message": "replicas must not exceed maxReplicas"}],
    "properties": {
     "replicas": {"type": "integer", "default": 1, "minimum": 0}, "maxReplicas": {"type": "integer", "minimum": 0},
     "strategy": {"type": "object", "default": {}, "properties": {"type": {"type": "string",
     "enum": ["Rolling", "Recreate"], "default": "Rolling"}}},
     "parts": {"type": "array", "maxItems": 64, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
      "items": {"type": "object", "required": ["name", "image"], "properties": {
       "name": {"type": "string", "maxLength": 63, "pattern": "^[a-z0-9-]+$"}, "image": {"type": "string",
       "maxLength": 512},
       "port": {"type": "integer", "minimum": 1, "maximum": 65535}, "protocol": {"type": "string",
       "enum": ["TCP", "UDP"], "default": "TCP"}}}}}},
   "status": {"type": "object", "properties": {
    "phase": {"type": "string"}, "selector": {"type": "string"}, "replicas": {"type": "integer"},
    "conditions": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
     "items": {"type": "object", "required": ["type", "status"], "properties": {
      "type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"},
      "message": {"type": "string"},
      "lastTransitionTime": {"type": "string", "format": "date-time"}}}}}}}}}}]}}`)
}

func widgetObject(n int) string {
	return fmt.Sprintf(`{"apiVersion":"bench.example.com/v1","kind":"Widget%d","metadata":{"name":"first"},`+
		`"spec":{"replicas":1,"maxReplicas":100,`+
		`"parts":[{"name":"a","image":"registry.example.com/team/a:1"},{"name":"b","image":"registry.example.com/team/b:1",`+
		`"port":80}]}}`,
		n)
}
