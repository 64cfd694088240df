package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
)

// writeAll creates the samples. Websites are first stored in one version, then in another.
func (i *interop) writeAll(client dynamic.Interface) {
	i.Helper()
	definitions := readManifests(i.T, samplesDir+"/*.yaml")
	for _, definition := range definitions {
		if definition.GetName() == "websites.web.example.com" {
			storeAs(i.T, definition, "v1beta1")
		}
	}
	createCRDs(i.T, client, definitions)
	i.eventually(func(ctx context.Context) error {
		old := parseManifests(i.T, "old", []byte(oldWebsite))[0]
		_, err := client.Resource(gvr("web.example.com", "v1beta1", "websites")).Namespace("default").Create(ctx, old,
			metav1.CreateOptions{})
		return err
	})
	websites, err := client.Resource(crdResource).Get(i.Context(), "websites.web.example.com", metav1.GetOptions{})
	if err != nil {
		i.Fatal(err)
	}
	storeAs(i.T, websites, "v1")
	if _, err := client.Resource(crdResource).Update(i.Context(), websites, metav1.UpdateOptions{}); err != nil {
		i.Fatal(err)
	}
	for _, object := range readManifests(i.T, samplesDir+"/objects/*.yaml") {
		resource := resources[object.GetKind()]
		resource.Version = object.GroupVersionKind().Version
		i.eventually(func(ctx context.Context) error {
			_, err := client.Resource(resource).Namespace(object.GetNamespace()).Create(ctx, object,
				metav1.CreateOptions{})
			return err
		})
	}
	crontabs := client.Resource(resources["CronTab"]).Namespace("default")
	status := []byte(`{"status":{"replicas":1,"labelSelector":"a=b"}}`)
	if _, err := crontabs.Patch(i.Context(), "report", types.MergePatchType, status, metav1.PatchOptions{},
		"status"); err != nil {
		i.Fatal(err)
	}
	held := []byte(`{"metadata":{"finalizers":["example.com/hold"]}}`)
	if _, err := crontabs.Patch(i.Context(), "cleanup", types.MergePatchType, held, metav1.PatchOptions{}); err != nil {
		i.Fatal(err)
	}
	if err := crontabs.Delete(i.Context(), "cleanup", metav1.DeleteOptions{}); err != nil {
		i.Fatal(err)
	}
}

const oldWebsite = `{apiVersion: web.example.com/v1beta1, kind: Website, metadata: {name: old}, spec: {domain: ` +
	`old.example.com, repository: "https://example.com/old", port: http}}`

// changeAll changes every object, creates some and deletes some.
func (i *interop) changeAll(client dynamic.Interface) {
	i.Helper()
	for _, resource := range resources {
		list, err := client.Resource(resource).List(i.Context(), metav1.ListOptions{})
		if err != nil {
			i.Fatal(err)
		}
		for _, object := range list.Items {
			within := client.Resource(resource).Namespace(object.GetNamespace())
			patch := []byte(`{"metadata":{"annotations":{"changed":"yes"}}}`)
			if _, err := within.Patch(i.Context(), object.GetName(), types.MergePatchType, patch,
				metav1.PatchOptions{}); err != nil {
				i.Fatal(err)
			}
		}
	}
	crontabs := client.Resource(resources["CronTab"]).Namespace("default")
	released := []byte(`{"metadata":{"finalizers":null}}`)
	if _, err := crontabs.Patch(i.Context(), "cleanup", types.MergePatchType, released,
		metav1.PatchOptions{}); err != nil {
		i.Fatal(err)
	}
	applied := []byte(`{"apiVersion":"infra.example.com/v1","kind":"Region","metadata":{"name":"applied"},` +
		`"spec":{"location":"x","zones":["a"]}}`)
	options := metav1.PatchOptions{FieldManager: "interop"}
	if _, err := client.Resource(resources["Region"]).Patch(i.Context(), "applied", types.ApplyPatchType, applied,
		options); err != nil {
		i.Fatal(err)
	}
}

// everything returns all CRDs, and all objects in all versions, as JSON, by name. It waits until all are served.
func (i *interop) everything(client dynamic.Interface) map[string]string {
	i.Helper()
	all := map[string]string{}
	for _, resource := range append(slices.Collect(maps.Values(resources)), crdResource,
		gvr("web.example.com", "v1beta1", "websites")) {
		i.eventually(func(ctx context.Context) error {
			list, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			for _, object := range list.Items {
				encoded, err := json.MarshalIndent(object.Object, "", " ")
				if err != nil {
					return err
				}
				all[fmt.Sprint(resource.GroupVersion(), " ", object.GetKind(), " ", object.GetNamespace(), "/",
					object.GetName())] = string(encoded)
			}
			return nil
		})
	}
	return all
}

// eventually repeats a request while the server does not serve a new CRD yet.
func (i *interop) eventually(do func(context.Context) error) {
	i.Helper()
	var err error
	waited := wait.PollUntilContextTimeout(i.Context(), pollInterval, patience, true,
		func(ctx context.Context) (bool, error) {
			if err = do(ctx); apierrors.IsNotFound(err) || apierrors.IsServiceUnavailable(err) ||
				apierrors.IsTooManyRequests(err) {
				return false, nil
			}
			return err == nil, err
		})
	if waited != nil {
		i.Fatal(waited, err)
	}
}

func gvr(group, version, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
}

// storeAs changes the storage version of a CRD.
func storeAs(t *testing.T, definition *unstructured.Unstructured, version string) {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range versions {
		entry := entry.(map[string]any)
		entry["storage"] = entry["name"] == version
	}
	if err := unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
}
