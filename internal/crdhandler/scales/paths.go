package scales

import (
	"fmt"
	"math"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// Paths are the paths of a Scale's fields in a custom resource.
type Paths struct {
	SpecReplicas, StatusReplicas string
	Selector                     string // empty: none
}

// NoReplicas marks replicas that were never set, while a Scale is changed.
const NoReplicas = math.MinInt32

// Scale returns the Scale of a custom resource. found says whether the object has the field of wanted replicas.
func (p Paths) Scale(parent runtime.Object) (_ *autoscalingv1.Scale, found bool, err error) {
	cr := parent.(*unstructured.Unstructured)
	wanted, found, err := unstructured.NestedInt64(cr.Object, splitPath(p.SpecReplicas)...)
	if err != nil {
		return nil, false, err
	}
	actual, _, err := unstructured.NestedInt64(cr.Object, splitPath(p.StatusReplicas)...)
	if err != nil {
		return nil, false, err
	}
	selector := ""
	if p.Selector != "" {
		if selector, _, err = unstructured.NestedString(cr.Object, splitPath(p.Selector)...); err != nil {
			return nil, false, err
		}
	}
	return &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{APIVersion: autoscalingv1.SchemeGroupVersion.String(), Kind: "Scale"},
		ObjectMeta: metav1.ObjectMeta{
			Name:              cr.GetName(),
			Namespace:         cr.GetNamespace(),
			UID:               cr.GetUID(),
			ResourceVersion:   cr.GetResourceVersion(),
			CreationTimestamp: cr.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: int32(wanted)},
		Status: autoscalingv1.ScaleStatus{Replicas: int32(actual), Selector: selector},
	}, found, nil
}

// Put returns a copy of a custom resource with the replicas and the managed fields of a Scale.
func (p Paths) Put(parent, after runtime.Object, fields *managedfields.ScaleHandler) (runtime.Object, error) {
	scale, ok := after.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("wrong object passed to Scale update: %v", after))
	}
	if scale.Spec.Replicas == NoReplicas {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty", p.SpecReplicas))
	}
	cr := parent.DeepCopyObject().(*unstructured.Unstructured)
	replicas := int64(scale.Spec.Replicas)
	if err := unstructured.SetNestedField(cr.Object, replicas, splitPath(p.SpecReplicas)...); err != nil {
		return nil, err
	}
	if scale.ResourceVersion != "" {
		cr.SetResourceVersion(scale.ResourceVersion) // the version that the client has read
	}
	entries, err := fields.ToParent(scale.ManagedFields)
	if err != nil {
		return nil, err
	}
	cr.SetManagedFields(entries)
	return cr, nil
}

// splitPath returns the field names of a simple JSON path.
func splitPath(path string) []string {
	return strings.Split(strings.TrimPrefix(path, "."), ".")
}
