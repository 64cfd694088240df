package clusterapi

import (
	"encoding/json"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// sample is a kind of Cluster API with requests that its webhooks change or refuse.
type sample struct {
	// resource has the version in which clients write.
	resource schema.GroupVersionResource
	// kind and spec make a valid object.
	kind, spec string
	// defaulted are fields that the webhooks set when the object is created.
	defaulted []field
	// change is a valid merge patch; changed are fields afterwards.
	change  string
	changed []field
	// other is another version, which needs a conversion, and converted are fields of the changed object in it.
	other     string
	converted []field
	// refusals are invalid merge patches of the object.
	refusals []refusal
}

// field is the path and the value of a field.
type field struct {
	path  []string
	value any
}

// refusal is an invalid patch and a part of the webhook's message.
type refusal struct {
	patch, message string
	// update is the message if the object exists; empty for the same.
	update string
}

// named returns the valid object.
func (s *sample) named(name string) *unstructured.Unstructured {
	var spec map[string]any
	if err := yaml.Unmarshal([]byte(s.spec), &spec); err != nil {
		panic(err) // a mistake in samples
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": s.resource.GroupVersion().String(), "kind": s.kind,
		// The controllers leave paused objects alone.
		"metadata": map[string]any{"name": name, "annotations": map[string]any{"cluster.x-k8s.io/paused": "true"}},
		"spec":     spec,
	}}
}

// invalid returns the object with a patch.
func (s *sample) invalid(name, patch string) *unstructured.Unstructured {
	document, err := json.Marshal(s.named(name))
	if err == nil {
		document, err = jsonpatch.MergePatch(document, []byte(patch))
	}
	object := &unstructured.Unstructured{}
	if err == nil {
		err = object.UnmarshalJSON(document)
	}
	if err != nil {
		panic(err) // a mistake in samples
	}
	return object
}

// pausedCluster is the cluster of all objects, which the controllers leave alone.
func pausedCluster() *unstructured.Unstructured {
	cluster := sample{resource: clusters("v1beta2", "clusters"), kind: "Cluster", spec: `
paused: true
infrastructureRef: {apiGroup: infrastructure.example.com, kind: Thing, name: shop}
`}
	return cluster.named("shop")
}

func clusters(version, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "cluster.x-k8s.io", Version: version, Resource: resource}
}

const immutable = "Forbidden: IPAddress spec is immutable"

var samples = []*sample{{
	resource: clusters("v1beta2", "machines"),
	kind:     "Machine",
	spec: `
clusterName: shop
version: 1.33.0
bootstrap: {dataSecretName: data}
infrastructureRef: {apiGroup: infrastructure.example.com, kind: Thing, name: thing}
`,
	defaulted: []field{
		{[]string{"metadata", "labels", "cluster.x-k8s.io/cluster-name"}, "shop"},
		{[]string{"spec", "version"}, "v1.33.0"},
		{[]string{"spec", "deletion", "nodeDeletionTimeoutSeconds"}, int64(10)},
	},
	change:    `{"spec": {"version": "1.34.1"}}`,
	changed:   []field{{[]string{"spec", "version"}, "v1.34.1"}},
	other:     "v1beta1",
	converted: []field{{[]string{"spec", "nodeDeletionTimeout"}, "10s"}, {[]string{"spec", "version"}, "v1.34.1"}},
	refusals: []refusal{
		{patch: `{"spec": {"version": "newest"}}`,
			message: `Invalid value: "vnewest": must be a valid semantic version`},
		{patch: `{"spec": {"bootstrap": {"dataSecretName": null}}}`,
			message: "spec.bootstrap: Required value: expected either spec.bootstrap.dataSecretName or "},
	},
}, {
	resource: clusters("v1beta2", "machinehealthchecks"),
	kind:     "MachineHealthCheck",
	spec: `
clusterName: shop
selector: {matchLabels: {role: worker}}
`,
	defaulted: []field{
		{[]string{"metadata", "labels", "cluster.x-k8s.io/cluster-name"}, "shop"},
		{[]string{"spec", "checks", "nodeStartupTimeoutSeconds"}, int64(600)},
	},
	change:    `{"spec": {"checks": {"nodeStartupTimeoutSeconds": 90}}}`,
	changed:   []field{{[]string{"spec", "checks", "nodeStartupTimeoutSeconds"}, int64(90)}},
	other:     "v1beta1",
	converted: []field{{[]string{"spec", "nodeStartupTimeout"}, "1m30s"}},
	refusals: []refusal{
		{patch: `{"spec": {"checks": {"nodeStartupTimeoutSeconds": 29}}}`,
			message: "Invalid value: 29: must be at least 30s"},
		{patch: `{"spec": {"selector": {"matchLabels": {"cluster.x-k8s.io/cluster-name": "other"}}}}`,
			message: "cannot specify a cluster selector other than the one specified by ClusterName"},
	},
}, {
	// Each write needs conversions, because the webhooks know v1beta2, and v1beta2 is stored.
	resource: clusters("v1beta1", "machinedeployments"),
	kind:     "MachineDeployment",
	spec: `
clusterName: shop
replicas: 2
selector: {}
template:
  spec:
    clusterName: shop
    version: 1.33.0
    bootstrap: {dataSecretName: data}
    infrastructureRef: {apiVersion: infrastructure.example.com/v1, kind: Thing, name: thing}
`,
	defaulted: []field{
		{[]string{"spec", "template", "spec", "version"}, "v1.33.0"},
		{[]string{"spec", "selector", "matchLabels", "cluster.x-k8s.io/cluster-name"}, "shop"},
		{[]string{"spec", "strategy", "type"}, "RollingUpdate"},
	},
	change:  `{"spec": {"template": {"spec": {"version": "1.34.1"}}, "strategy": {"rollingUpdate": {"maxSurge": 3}}}}`,
	changed: []field{{[]string{"spec", "template", "spec", "version"}, "v1.34.1"}},
	other:   "v1beta2",
	converted: []field{
		{[]string{"spec", "rollout", "strategy", "rollingUpdate", "maxSurge"}, int64(3)},
		{[]string{"spec", "template", "spec", "version"}, "v1.34.1"},
	},
	refusals: []refusal{
		{patch: `{"spec": {"template": {"spec": {"clusterName": "other"}}}}`,
			message: "spec.clusterName and spec.template.spec.clusterName must be set to the same value"},
		{patch: `{"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}}}`,
			message: "maxUnavailable and maxSurge cannot both be 0"},
	},
}, {
	resource: schema.GroupVersionResource{Group: "ipam.cluster.x-k8s.io", Version: "v1beta2", Resource: "ipaddresses"},
	kind:     "IPAddress",
	spec: `
address: 10.0.0.7
prefix: 24
claimRef: {name: claim}
poolRef: {apiGroup: ipam.example.com, kind: Pool, name: pool}
`,
	change:    `{"metadata": {"labels": {"color": "blue"}}}`,
	changed:   []field{{[]string{"metadata", "labels", "color"}, "blue"}},
	other:     "v1beta1",
	converted: []field{{[]string{"metadata", "labels", "color"}, "blue"}, {[]string{"spec", "prefix"}, int64(24)}},
	refusals: []refusal{
		{patch: `{"spec": {"address": "10.0.0.300"}}`, message: "not a valid", update: immutable},
		{patch: `{"spec": {"gateway": "nowhere"}}`, message: "not a valid", update: immutable},
	},
}}
