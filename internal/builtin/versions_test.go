package builtin_test

import (
	"reflect"
	"slices"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

// TestEquivalents checks which resources are versions of another: autoscalers and events alone.
func TestEquivalents(t *testing.T) {
	t.Parallel()
	set, err := set()
	if err != nil {
		t.Fatal(err)
	}
	autoscalers := []schema.GroupVersionResource{
		autoscalingv1.SchemeGroupVersion.WithResource("horizontalpodautoscalers"),
		autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers"),
	}
	events := []schema.GroupVersionResource{
		corev1.SchemeGroupVersion.WithResource("events"), eventsv1.SchemeGroupVersion.WithResource("events"),
	}
	for _, d := range set.Definitions {
		gvr, want := d.GroupVersionResource(), []schema.GroupVersionResource(nil)
		for _, versions := range [][]schema.GroupVersionResource{autoscalers, events} {
			if slices.Contains(versions, gvr) {
				want = versions
			}
		}
		got := set.Equivalents.EquivalentResourcesFor(gvr, "")
		for _, other := range got {
			if other != gvr && !slices.Contains(want, other) {
				t.Errorf("%s is a version of %s", other, gvr)
			}
		}
		if len(want) > len(got) || len(set.Versions(d)) != max(1, len(want)) {
			t.Errorf("%s has the versions %v, want %v", gvr, got, want)
		}
	}
}

// TestConvertor checks conversions between versions, of objects with a Go type and of unstructured ones.
func TestConvertor(t *testing.T) {
	t.Parallel()
	set, err := set()
	if err != nil {
		t.Fatal(err)
	}
	unserved := schema.GroupVersion{Group: "autoscaling", Version: "v2beta2"}
	c := set.Convertor(set.Find(autoscalingv2.Resource("horizontalpodautoscalers")))
	older := &autoscalingv1.HorizontalPodAutoscaler{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "HorizontalPodAutoscaler"},
		ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"a": "b"}},
		Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
			MinReplicas: ptr.To[int32](2), MaxReplicas: 3, TargetCPUUtilizationPercentage: ptr.To[int32](50),
		},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(older)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []runtime.Object{older, &unstructured.Unstructured{Object: content}} {
		obj, err := c.ConvertToVersion(in, autoscalingv2.SchemeGroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		newer, ok := obj.(*autoscalingv2.HorizontalPodAutoscaler)
		if !ok || newer.APIVersion != "autoscaling/v2" || *newer.Spec.Metrics[0].Resource.Target.AverageUtilization != 50 {
			t.Fatalf("%T became %#v", in, obj)
		}
		newer.Labels["a"], *newer.Spec.MinReplicas = "changed", 7
		if older.Labels["a"] != "b" || *older.Spec.MinReplicas != 2 {
			t.Errorf("%T shares parts with its conversion", in)
		}
		back := &autoscalingv1.HorizontalPodAutoscaler{}
		if err := c.Convert(newer, back, nil); err != nil {
			t.Fatal(err)
		}
		if *back.Spec.MinReplicas != 7 || *back.Spec.TargetCPUUtilizationPercentage != 50 {
			t.Errorf("%T was converted back to %#v", in, back)
		}
		if _, err := c.ConvertToVersion(in, unserved); !runtime.IsNotRegisteredError(err) {
			t.Errorf("%T became one of a version that is not served: %v", in, err)
		}
		same, err := c.ConvertToVersion(in, autoscalingv1.SchemeGroupVersion)
		if err != nil || !reflect.DeepEqual(same, runtime.Object(older)) {
			t.Errorf("%T became %#v, %v in its own version", in, same, err)
		}
	}
}
