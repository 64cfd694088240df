package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/crd-server/crd-server/test/process"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
	Resource: "customresourcedefinitions"}

// readManifests reads all documents of all files that match the pattern.
func readManifests(t testing.TB, pattern string) []*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s: %v", pattern, err)
	}
	slices.Sort(files)
	var objects []*unstructured.Unstructured
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, parseManifests(t, file, content)...)
	}
	return objects
}

func parseManifests(t testing.TB, name string, content []byte) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// createCRDs creates the definitions and waits until each is established.
func createCRDs(t testing.TB, client dynamic.Interface, definitions []*unstructured.Unstructured) {
	t.Helper()
	for _, definition := range definitions {
		if _, err := client.Resource(crdResource).Create(t.Context(), definition, metav1.CreateOptions{}); err != nil &&
			!apierrors.IsAlreadyExists(err) {
			t.Fatalf("create CRD %s: %v", definition.GetName(), err)
		}
	}
	for _, definition := range definitions {
		awaitEstablished(t, client, definition.GetName())
	}
}

// awaitEstablished waits for a CRD's condition Established as kubectl wait does: it lists, then watches.
func awaitEstablished(t testing.TB, client dynamic.Interface, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lw := oneCRD(client, name)
	_, err := watchtools.UntilWithSync(ctx, lw, &unstructured.Unstructured{}, nil,
		func(event watch.Event) (bool, error) {
			object, ok := event.Object.(*unstructured.Unstructured)
			return ok && conditionStatus(object, "Established") == "True", nil
		})
	if err != nil {
		t.Fatalf("CRD %s is not established: %v", name, err)
	}
}

// oneCRD lists and watches one CRD.
func oneCRD(client dynamic.Interface, name string) *cache.ListWatch {
	only := fields.OneTermEqualSelector("metadata.name", name).String()
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = only
			return client.Resource(crdResource).List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = only
			return client.Resource(crdResource).Watch(ctx, options)
		},
	}
}

// conditionStatus returns the status of a condition, or "" without one.
func conditionStatus(object *unstructured.Unstructured, kind string) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		condition, _ := entry.(map[string]any)
		if condition["type"] == kind {
			status, _ := condition["status"].(string)
			return status
		}
	}
	return ""
}

// resources maps the kinds of the samples to their resources.
var resources = map[string]schema.GroupVersionResource{
	"CronTab":  {Group: "stable.example.com", Version: "v1", Resource: "crontabs"},
	"Database": {Group: "data.example.com", Version: "v1", Resource: "databases"},
	"Region":   {Group: "infra.example.com", Version: "v1", Resource: "regions"},
	"Website":  {Group: "web.example.com", Version: "v1", Resource: "websites"},
}

// installSamples creates the sample CRDs and their objects.
func installSamples(t testing.TB, server *process.Server) {
	t.Helper()
	client := dynamicClient(t, server)
	createCRDs(t, client, readManifests(t, samplesDir+"/*.yaml"))
	for _, object := range readManifests(t, samplesDir+"/objects/*.yaml") {
		resource := resources[object.GetKind()]
		resource.Version = object.GroupVersionKind().Version
		if _, err := client.Resource(resource).Namespace(object.GetNamespace()).Create(t.Context(), object,
			metav1.CreateOptions{}); err != nil {
			t.Fatalf("create %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// livesOn checks that the server still serves an existing object and creates a new one.
func livesOn(t testing.TB, server *process.Server) {
	t.Helper()
	crontabs := dynamicClient(t, server).Resource(resources["CronTab"]).Namespace("default")
	object, err := crontabs.Get(t.Context(), "report", metav1.GetOptions{})
	if err != nil {
		t.Fatalf("the server does not serve any more: %v", err)
	}
	object.SetName("alive")
	object.SetResourceVersion("")
	if _, err := crontabs.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatalf("the server does not write any more: %v", err)
	}
}

// listServedVersions lists a CRD's objects in every served version.
func listServedVersions(t testing.TB, client dynamic.Interface, definition *unstructured.Unstructured) {
	t.Helper()
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, entry := range versions {
		version, _ := entry.(map[string]any)
		if served, _ := version["served"].(bool); !served {
			continue
		}
		name, _ := version["name"].(string)
		resource := schema.GroupVersionResource{Group: group, Version: name, Resource: plural}
		if _, err := client.Resource(resource).List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Errorf("list %s: %v", resource, err)
		}
	}
}
