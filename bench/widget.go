package main

import (
	"fmt"
	"strings"
)

// The resource that the object rows use.
const (
	widgetGroup     = "bench.example.com"
	widgetNamespace = "bench"
	widgets         = "/apis/" + widgetGroup + "/v1/namespaces/" + widgetNamespace + "/widgets"
	allWidgets      = "/apis/" + widgetGroup + "/v1/widgets"
	crds            = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
)

// shards is the number of values of the label shard: one of them selects 1 %.
const shards = 100

// maxReplicas is the limit of the CEL rule.
const maxReplicas = 10000

// widgetCRD is a realistic CRD with defaults, a list map, a CEL rule, status and scale. Its names may vary with the
// run.
func widgetCRD(group, plural, kind string) []byte {
	return []byte(strings.NewReplacer("GROUP", group, "PLURAL", plural, "KIND", kind).Replace(`{
"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
"metadata": {"name": "PLURAL.GROUP"},
"spec": {"group": "GROUP", "scope": "Namespaced",
 "names": {"plural": "PLURAL", "singular": "` + strings.ToLower(kind) + `", "kind": "KIND", "listKind": "KINDList"},
 "versions": [{"name": "v1", "served": true, "storage": true,
  "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
  "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}},
  "additionalPrinterColumns": [{"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"}, {"name": "Phase",
    "type": "string", "jsonPath": ".status.phase"}],
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
    "phase": {"type": "string"}, "selector": {"type": "string"},
    "replicas": {"type": "integer"}, "observedGeneration": {"type": "integer"},
    "conditions": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
     "items": {"type": "object", "required": ["type", "status"], "properties": {
      "type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"},
      "message": {"type": "string"},
      "lastTransitionTime": {"type": "string", "format": "date-time"}}}}}}}}}}]}}`))
}

// widgetName is the name of the i-th object.
func widgetName(i int) string { return fmt.Sprintf("widget-%06d", i) }

// widget returns the i-th object as a client sends it, about 2.3 KB as served.
func widget(kind, name string, i, replicas int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"apiVersion":"%s/v1","kind":"%s","metadata":{"name":"%s","namespace":"bench",`+
		`"labels":{"app.kubernetes.io/name":"widget","app.kubernetes.io/part-of":"bench","shard":"s%d"}},`+
		`"spec":{"replicas":%d,"maxReplicas":%d,"parts":[`, widgetGroup, kind, name, i%shards, replicas, maxReplicas)
	for part := range 8 {
		if part > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"part-%d","image":"registry.example.com/team/part-%d:1.%d","port":%d}`, part, part, i%50,
			8080+part)
	}
	b.WriteString(`]}}`)
	return []byte(b.String())
}
