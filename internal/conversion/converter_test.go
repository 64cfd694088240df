package conversion

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/validation"
)

var (
	v1 = schema.GroupVersion{Group: "example.com", Version: "v1"}
	v2 = schema.GroupVersion{Group: "example.com", Version: "v2"}
)

// newCRD returns a CRD with two versions. Their schemas have one field each: color and colour.
func newCRD(conversion *apiextensionsv1.CustomResourceConversion) *apiextensionsv1.CustomResourceDefinition {
	version := func(name, field string, storage bool) apiextensionsv1.CustomResourceDefinitionVersion {
		return apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: storage,
			Subresources: &apiextensionsv1.CustomResourceSubresources{Scale: &apiextensionsv1.CustomResourceSubresourceScale{
				SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas",
			}},
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
				Type: "object",
				Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": {
					Type: "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{field: {Type: "string",
						Default: &apiextensionsv1.JSON{Raw: []byte(`"grey"`)}}, "both": {Type: "string"}},
				}},
			}},
			SelectableFields: []apiextensionsv1.SelectableField{{JSONPath: ".spec." + field}},
		}
	}
	names := apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget",
		ListKind: "WidgetList"}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped, Names: names, Conversion: conversion,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version("v1", "color", true),
				version("v2", "colour", false)},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{AcceptedNames: names},
	}
}

func newConverter(t testing.TB, crd *apiextensionsv1.CustomResourceDefinition) *Converter {
	t.Helper()
	// Upstream's metrics are registered once per process, whatever the number of factories.
	factory, err := NewFactory(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	converter, err := factory.New(crd, setOf(crd))
	if err != nil {
		t.Fatal(err)
	}
	return converter
}

func newObject(gv schema.GroupVersion, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": gv.String(),
		"kind":       "Widget",
		"metadata":   map[string]any{"name": name, "namespace": "default", "uid": "uid-" + name},
		"spec":       spec,
	}}
}

func copies(objs []*unstructured.Unstructured) []*unstructured.Unstructured {
	var copied []*unstructured.Unstructured
	for _, obj := range objs {
		copied = append(copied, obj.DeepCopy())
	}
	return copied
}

func TestConvertNone(t *testing.T) {
	t.Parallel()
	for _, conversion := range []*apiextensionsv1.CustomResourceConversion{nil,
		{Strategy: apiextensionsv1.NoneConverter}} {
		converter := newConverter(t, newCRD(conversion))
		for _, count := range []int{0, 1, 3} {
			var objs, want []*unstructured.Unstructured
			for i := range count {
				gv, spec := v1, map[string]any{"color": "red", "both": "b"}
				if i == 1 {
					gv, spec = v2, map[string]any{"colour": "blue"}
				}
				name := fmt.Sprint("w", i)
				objs = append(objs, newObject(gv, name, spec))
				if i == 1 {
					want = append(want, newObject(v2, name, spec))
				} else {
					// Pruned by the schema of v2, not defaulted.
					want = append(want, newObject(v2, name, map[string]any{"both": "b"}))
				}
			}
			before := copies(objs)
			got, err := converter.Convert(context.Background(), objs, v2)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%d objects (-want +got):\n%s", count, diff)
			}
			if diff := cmp.Diff(before, objs); diff != "" {
				t.Errorf("%d objects were modified (-before +after):\n%s", count, diff)
			}
			if count > 1 && got[1] != objs[1] {
				t.Error("an object that is in the version already should be returned as it is")
			}
		}
	}
}

func TestConvertRefuses(t *testing.T) {
	t.Parallel()
	converter := newConverter(t, newCRD(nil))
	for _, tc := range []struct {
		from, to schema.GroupVersion
		want     string
	}{
		{v1, schema.GroupVersion{Group: "example.com", Version: "v9"},
			"request to convert CR to an invalid group/version: example.com/v9"},
		{schema.GroupVersion{Group: "example.com", Version: "v9"}, v1,
			"request to convert CR from an invalid group/version: example.com/v9"},
	} {
		_, err := converter.Convert(context.Background(), []*unstructured.Unstructured{newObject(tc.from, "w", nil)}, tc.to)
		if err == nil || err.Error() != tc.want {
			t.Errorf("got error %v, want %q", err, tc.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := converter.Convert(ctx, []*unstructured.Unstructured{newObject(v1, "w", nil)}, v2); !errors.Is(err,
		context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}

func TestObjectConvertor(t *testing.T) {
	t.Parallel()
	convertor := newConverter(t, newCRD(nil)).ObjectConvertor()
	in := newObject(v1, "w", map[string]any{"color": "red"})
	out, err := convertor.ConvertToVersion(in, v2)
	if err != nil {
		t.Fatal(err)
	}
	// Managed fields compare objects without pruning.
	if diff := cmp.Diff(newObject(v2, "w", map[string]any{"color": "red"}), out.(*unstructured.Unstructured)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if in.GetAPIVersion() != v1.String() {
		t.Error("the object was modified")
	}
	if _, err := convertor.ConvertToVersion(&autoscalingv1.Scale{TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1",
		Kind: "Scale"}}, autoscalingv1.SchemeGroupVersion); err != nil {
		t.Errorf("scale: %v", err)
	}
	for label, ok := range map[string]bool{"metadata.name": true, "metadata.namespace": true, "spec.color": true,
		"spec.colour": false, "spec.other": false} {
		_, _, err := convertor.ConvertFieldLabel(v1.WithKind("Widget"), label, "x")
		if ok != (err == nil) {
			t.Errorf("field label %s: %v", label, err)
		}
		if err != nil && err.Error() != "field label not supported: "+label {
			t.Errorf("field label %s: %v", label, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	url := "https://localhost:1"
	for name, tc := range map[string]struct {
		conversion apiextensionsv1.CustomResourceConversion
		want       string
	}{
		"unknown strategy": {
			apiextensionsv1.CustomResourceConversion{Strategy: "Magic"},
			`unknown conversion strategy "Magic" for CRD widgets.example.com`,
		},
		"webhook without a client config": {
			apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{}},
			errNoWebhook.Error(),
		},
		"CA bundle that is none": {
			apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{
					ConversionReviewVersions: []string{"v1"},
					ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: []byte("x")},
				}},
			"unable to load root certificates",
		},
	} {
		t.Run(name, func(t *testing.T) {
			factory, err := NewFactory(nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			crd := newCRD(&tc.conversion)
			_, err = factory.New(crd, setOf(crd))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestConvertConcurrently(t *testing.T) {
	t.Parallel()
	converter := newConverter(t, newCRD(nil))
	objs := []*unstructured.Unstructured{newObject(v1, "a", map[string]any{"color": "red"}),
		newObject(v1, "b", map[string]any{"both": "b"})}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if _, err := converter.Convert(context.Background(), objs, v2); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// setOf returns the compiled schemas of a CRD.
func setOf(crd *apiextensionsv1.CustomResourceDefinition) *validation.Set {
	return validation.New(crd, func() (*apiextensions.CustomResourceDefinition, error) {
		whole := &apiextensions.CustomResourceDefinition{}
		return whole, apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd,
			whole, nil)
	})
}
