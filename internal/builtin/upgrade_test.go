package builtin_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// TestUpgrade reads an object of each version that Kubernetes' types have of a kind, in JSON and protobuf, as this and
// earlier releases of Kubernetes encode it.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	set, err := set()
	if err != nil {
		t.Fatal(err)
	}
	fixtures := fixtures(t)
	for _, d := range set.Definitions {
		if d.List == nil {
			continue
		}
		codec, found := set.Codec(d), 0
		for kind := range scheme.Scheme.AllKnownTypes() {
			if kind.Kind != d.Kind || !sharesStorage(kind.Group, d.GroupVersion.Group) {
				continue
			}
			for _, fixture := range fixtures[kind] {
				found++
				checkUpgrade(t, codec, d, fixture)
			}
		}
		if found == 0 && d.GroupVersion.Group != "apiregistration.k8s.io" {
			t.Errorf("%s has no fixtures", d.GroupVersionKind())
		}
	}
}

// sharesStorage reports whether objects of one group may be stored as those of another.
func sharesStorage(group, other string) bool {
	return group == other || group == "extensions" || group == "" && other == "events.k8s.io" ||
		group == "events.k8s.io" && other == ""
}

// checkUpgrade reads a fixture in JSON and in protobuf.
func checkUpgrade(t *testing.T, codec *builtin.Codec, d *resource.Definition, fixture string) {
	t.Helper()
	var read []string
	for _, extension := range []string{".json", ".pb"} {
		value, err := os.ReadFile(fixture + extension)
		if err != nil {
			t.Fatal(err)
		}
		entry := &dynamicstorage.Entry{Value: value, Revision: 7}
		view, err := codec.StoredView(entry)
		if err != nil {
			t.Errorf("%s%s as %s: %v", fixture, extension, d.GroupVersion, err)
			return
		}
		read = append(read, string(view.Bytes))
		obj, err := codec.Object(entry)
		if err != nil || reflect.TypeOf(obj) != reflect.TypeOf(d.Object) {
			t.Errorf("%s%s as %s became a %T: %v", fixture, extension, d.GroupVersion, obj, err)
		}
	}
	if read[0] != read[1] {
		t.Errorf("%s as %s is in JSON\n%s\nand in protobuf\n%s", fixture, d.GroupVersion, read[0], read[1])
	}
}

// fixtures returns the paths of the encoded objects in k8s.io/api by their kind, without the extensions of the files.
func fixtures(t *testing.T) map[schema.GroupVersionKind][]string {
	t.Helper()
	folder, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(folder)), "testdata", "*", "*.pb"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[schema.GroupVersionKind][]string{}
	for _, file := range files {
		path := strings.TrimSuffix(file, ".pb")
		if _, err := os.Stat(path + ".json"); err != nil {
			continue // what an earlier release makes of another's fields
		}
		parts := strings.Split(filepath.Base(path), ".")
		group, last := strings.Join(parts[:len(parts)-2], "."), len(parts)-1
		if group == "core" {
			group = ""
		}
		kind := schema.GroupVersionKind{Group: group, Version: parts[last-1], Kind: parts[last]}
		all[kind] = append(all[kind], path)
	}
	return all
}

// TestUpgradeRenames checks what becomes of fields that have other names or meanings in older versions.
func TestUpgradeRenames(t *testing.T) {
	t.Parallel()
	set, err := set()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		plural, version, kind, stored string
		// want is JSON at a path of the served object.
		path, want string
	}{
		{"events", "events.k8s.io/v1beta1", "Event", `"note":"n","regarding":{"name":"r"}`, "message", `"n"`},
		{"events", "events.k8s.io/v1", "Event", `"note":"n","regarding":{"name":"r"}`, "involvedObject", `{"name":"r"}`},
		{"horizontalpodautoscalers", "autoscaling/v1", "HorizontalPodAutoscaler",
			`"spec":{"maxReplicas":3,"targetCPUUtilizationPercentage":50}`, "spec.metrics",
			`[{"resource":{"name":"cpu","target":{"averageUtilization":50,"type":"Utilization"}},"type":"Resource"}]`},
		{"ingresses", "extensions/v1beta1", "Ingress", `"spec":{"backend":{"serviceName":"s","servicePort":80}}`,
			"spec.defaultBackend", `{"service":{"name":"s","port":{"number":80}}}`},
		{"ingresses", "networking.k8s.io/v1beta1", "Ingress",
			`"spec":{"rules":[{"http":{"paths":[{"backend":{"serviceName":"s","servicePort":"p"}}]}}]}`, "spec.rules",
			`[{"http":{"paths":[{"backend":{"service":{"name":"s","port":{"name":"p"}}},` +
				`"pathType":"ImplementationSpecific"}]}}]`},
		{"endpointslices", "discovery.k8s.io/v1beta1", "EndpointSlice",
			`"endpoints":[{"addresses":["a"],"nodeName":"n",` +
				`"topology":{"topology.kubernetes.io/zone":"z","kubernetes.io/hostname":"n","k":"v"}}]`,
			"endpoints", `[{"addresses":["a"],"conditions":{},"deprecatedTopology":{"k":"v"},"nodeName":"n","zone":"z"}]`},
		{"poddisruptionbudgets", "policy/v1beta1", "PodDisruptionBudget", `"spec":{"selector":{}}`, "spec.selector",
			`{"matchExpressions":[{"key":"pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match","operator":"Exists"}]}`},
		{"poddisruptionbudgets", "policy/v1beta1", "PodDisruptionBudget",
			`"spec":{"selector":{"matchExpressions":[` +
				`{"key":"pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match","operator":"DoesNotExist"}]}}`,
			"spec.selector", `{}`},
		{"prioritylevelconfigurations", "flowcontrol.apiserver.k8s.io/v1beta1", "PriorityLevelConfiguration",
			`"spec":{"type":"Limited","limited":{"assuredConcurrencyShares":5}}`, "spec.limited.nominalConcurrencyShares", `5`},
		{"prioritylevelconfigurations", "flowcontrol.apiserver.k8s.io/v1beta3", "PriorityLevelConfiguration",
			`"spec":{"type":"Limited","limited":{}}`, "spec.limited.nominalConcurrencyShares", `30`},
		{"runtimeclasses", "node.k8s.io/v1alpha1", "RuntimeClass",
			`"spec":{"runtimeHandler":"h","scheduling":{"nodeSelector":{"a":"b"}}}`, "scheduling", `{"nodeSelector":{"a":"b"}}`},
		{"runtimeclasses", "node.k8s.io/v1alpha1", "RuntimeClass", `"spec":{"runtimeHandler":"h"}`, "handler", `"h"`},
		{"rolebindings", "rbac.authorization.k8s.io/v1alpha1", "RoleBinding",
			`"subjects":[{"kind":"User","name":"*","apiVersion":"rbac.authorization.k8s.io/v1alpha1"}]`, "subjects",
			`[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"system:authenticated"}]`},
		{"resourceclaims", "resource.k8s.io/v1beta1", "ResourceClaim",
			`"spec":{"devices":{"requests":[{"name":"r","deviceClassName":"c","allocationMode":"All"}]}}`,
			"spec.devices.requests", `[{"exactly":{"allocationMode":"All","deviceClassName":"c"},"name":"r"}]`},
		{"resourceslices", "resource.k8s.io/v1beta1", "ResourceSlice",
			`"spec":{"devices":[{"name":"d","basic":{"capacity":{"c":{"value":"1"}}}}]}`,
			"spec.devices", `[{"capacity":{"c":{"value":"1"}},"name":"d"}]`},
		{"deployments", "apps/v1beta1", "Deployment", `"spec":{"rollbackTo":{"revision":4}}`,
			"metadata.annotations", `{"deprecated.deployment.rollback.to":"4"}`},
		{"daemonsets", "extensions/v1beta1", "DaemonSet", `"spec":{"templateGeneration":4}`,
			"metadata.annotations", `{"deprecated.daemonset.template.generation":"4"}`},
		{"apiservices", "apiregistration.k8s.io/v1beta1", "APIService", `"spec":{"group":"g"}`, "spec.group", `"g"`},
		{"mutatingwebhookconfigurations", "admissionregistration.k8s.io/v1beta1", "MutatingWebhookConfiguration",
			`"webhooks":[{"name":"w","sideEffects":"Unknown"}]`, "webhooks.0.sideEffects", `"Unknown"`},
	} {
		n := slices.IndexFunc(set.Definitions, func(d *resource.Definition) bool { return d.Plural == c.plural })
		d := set.Definitions[n]
		value := []byte(`{"kind":"` + c.kind + `","apiVersion":"` + c.version + `","metadata":{"name":"a"},` + c.stored + `}`)
		view, err := set.Codec(d).StoredView(&dynamicstorage.Entry{Value: value, Revision: 7})
		if err != nil {
			t.Errorf("%s of %s: %v", c.kind, c.version, err)
			continue
		}
		obj, err := set.Codec(d).Decode(view, 7)
		if err != nil {
			t.Fatal(err)
		}
		if got := at(t, obj, c.path); got != c.want {
			t.Errorf("%s of %s has the %s %s, want %s", c.kind, c.version, c.path, got, c.want)
		}
	}
	wrong := []byte(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}}`)
	if _, err := set.Codec(set.Definitions[0]).StoredView(&dynamicstorage.Entry{Value: wrong}); err == nil {
		t.Errorf("a Secret was read as a %s", set.Definitions[0].Kind)
	}
}

// at returns the JSON at a path of an object.
func at(t *testing.T, obj runtime.Object, path string) string {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Split(path, ".")
	if n := slices.Index(fields, "0"); n >= 0 {
		list, _, err := unstructured.NestedSlice(content, fields[:n]...)
		if err != nil || len(list) == 0 {
			t.Fatalf("%s: %v", path, err)
		}
		content, fields = list[0].(map[string]any), fields[n+1:]
	}
	value, _, err := unstructured.NestedFieldNoCopy(content, fields...)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}
