package evaluators

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"sigs.k8s.io/yaml"
)

// decode returns the object in a YAML text.
func decode[T any](t *testing.T, text string) *T {
	t.Helper()
	obj := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// show returns a list as text, in order and without zeros.
func show(list corev1.ResourceList) string {
	list = quotav1.RemoveZeros(list)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		quantity := list[name]
		parts = append(parts, fmt.Sprintf("%s=%s", name, quantity.String()))
	}
	return strings.Join(parts, " ")
}

// uses fails the test unless an object uses what want says, and each name of it is one that the evaluator has.
func uses(t *testing.T, e quotav1.Evaluator, obj runtime.Object, want string) {
	t.Helper()
	used, err := e.Usage(obj)
	if err != nil {
		t.Fatal(err)
	}
	if got := show(used); got != want {
		t.Errorf("used %s\nwant %s", got, want)
	}
	if names := slices.Collect(maps.Keys(used)); len(e.MatchingResources(names)) != len(names) {
		t.Errorf("the evaluator has only %v of %v", e.MatchingResources(names), names)
	}
}

// TestNames checks which resource has a name in a quota.
func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[corev1.ResourceName]string{
		"pods": "pods", "count/pods": "pods", "cpu": "pods", "requests.memory": "pods", "limits.ephemeral-storage": "pods",
		"hugepages-2Mi": "pods", "requests.hugepages-2Mi": "pods", "limits.hugepages-2Mi": "",
		"requests.example.com/gpu": "pods", "limits.example.com/gpu": "", "example.com/gpu": "",
		"requests.deviceclass.resource.kubernetes.io/gpus": "pods", "requests.kubernetes.io/odd": "",
		"services": "services", "services.nodeports": "services", "services.loadbalancers": "services",
		"persistentvolumeclaims": "persistentvolumeclaims", "requests.storage": "persistentvolumeclaims",
		"gold.storageclass.storage.k8s.io/requests.storage":       "persistentvolumeclaims",
		"gold.storageclass.storage.k8s.io/persistentvolumeclaims": "persistentvolumeclaims",
		"gold.storageclass.storage.k8s.io/odd":                    "",
		"configmaps":                                              "configmaps", "count/secrets": "secrets",
		"resourcequotas": "resourcequotas", "replicationcontrollers": "replicationcontrollers",
		"count/deployments.apps": "", "storage": "",
	} {
		var found []string
		for _, e := range Named {
			if len(e.MatchingResources([]corev1.ResourceName{name})) > 0 {
				found = append(found, e.GroupResource().String())
			}
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%s is of %q, want %q", name, got, want)
		}
	}
}

// TestFor checks which resources quotas count, and whose updates they do.
func TestFor(t *testing.T) {
	t.Parallel()
	for resource, counted := range map[string]bool{
		"events": false, "events.events.k8s.io": false, "pods": true, "deployments.apps": true, "tables.example.com": true,
	} {
		if e := For(schema.ParseGroupResource(resource)); (e != nil) != counted {
			t.Errorf("%s: evaluator %v", resource, e)
		}
	}
	for endpoint, counts := range map[string]bool{
		"pods/": true, "pods/resize": true, "pods/status": false, "services/": true, "services/status": false,
		"persistentvolumeclaims/": true, "persistentvolumeclaims/status": true, "configmaps/": false,
		"tables.example.com/": false,
	} {
		resource, subresource, _ := strings.Cut(endpoint, "/")
		if got := UpdatesCount(schema.ParseGroupResource(resource), subresource); got != counts {
			t.Errorf("%s: updates count is %t", endpoint, got)
		}
	}
}
