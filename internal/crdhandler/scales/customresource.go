package scales

import (
	"fmt"
	"math"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/crd-server/crd-server/internal/crdhandler/schemas"
)

// CustomResource makes the Scales of custom resources of the fields that the definition names (S3).
type CustomResource struct {
	Schemas *schemas.Cached
	Version string
	Hub     schema.GroupVersion
}

var _ Conversion = &CustomResource{}

// noReplicas marks replicas that were never set, while a Scale is changed.
const noReplicas = math.MinInt32

// names returns the names of the fields.
func (c *CustomResource) names() (*apiextensionsv1.CustomResourceSubresourceScale, error) {
	version, err := c.Schemas.Version(c.Version)
	if err != nil {
		return nil, err
	}
	if names := version.HasScale(); names != nil {
		return names, nil
	}
	return nil, fmt.Errorf("version %s has no scale", c.Version)
}

// Of implements Conversion.
func (c *CustomResource) Of(parent runtime.Object) (runtime.Object, error) {
	names, err := c.names()
	if err != nil {
		return nil, err
	}
	scale, found, err := scaleOf(parent.(*unstructured.Unstructured), names)
	if err == nil && !found {
		err = apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", names.SpecReplicasPath))
	}
	if err != nil {
		return nil, err
	}
	return scale, nil
}

// Shown implements Conversion.
func (c *CustomResource) Shown(parent runtime.Object) (runtime.Object, error) {
	names, err := c.names()
	if err != nil {
		return nil, err
	}
	scale, _, err := scaleOf(parent.(*unstructured.Unstructured), names)
	if err != nil {
		return nil, err
	}
	return scale, nil
}

// Edit implements Conversion.
func (c *CustomResource) Edit(
	parent runtime.Object,
) (runtime.Object, func(runtime.Object) (runtime.Object, error), error) {
	names, err := c.names()
	if err != nil {
		return nil, nil, err
	}
	compiled, err := c.Schemas.Get()
	if err != nil {
		return nil, nil, err
	}
	cr := parent.(*unstructured.Unstructured)
	before, found, err := scaleOf(cr, names)
	if err != nil {
		return nil, nil, err
	}
	if !found {
		before.Spec.Replicas = noReplicas
	}
	fields := managedfields.NewScaleHandler(cr.GetManagedFields(), c.Hub, compiled.Set.ReplicasPathMappings())
	if before.ManagedFields, err = fields.ToSubresource(); err != nil {
		return nil, nil, err
	}
	return before, func(after runtime.Object) (runtime.Object, error) {
		return withScale(cr, after, names.SpecReplicasPath, fields)
	}, nil
}

// scaleOf returns the Scale of a custom resource. found says whether the object has the field of wanted replicas.
func scaleOf(
	cr *unstructured.Unstructured, names *apiextensionsv1.CustomResourceSubresourceScale,
) (_ *autoscalingv1.Scale, found bool, err error) {
	wanted, found, err := unstructured.NestedInt64(cr.Object, splitPath(names.SpecReplicasPath)...)
	if err != nil {
		return nil, false, err
	}
	actual, _, err := unstructured.NestedInt64(cr.Object, splitPath(names.StatusReplicasPath)...)
	if err != nil {
		return nil, false, err
	}
	status := autoscalingv1.ScaleStatus{Replicas: int32(actual)}
	if path := names.LabelSelectorPath; path != nil && *path != "" {
		if status.Selector, _, err = unstructured.NestedString(cr.Object, splitPath(*path)...); err != nil {
			return nil, false, err
		}
	}
	return newScale(cr, autoscalingv1.ScaleSpec{Replicas: int32(wanted)}, status), found, nil
}

// withScale returns a copy of a custom resource with the replicas of a Scale at a path, and its managed fields.
func withScale(
	cr *unstructured.Unstructured, after runtime.Object, path string, fields *managedfields.ScaleHandler,
) (runtime.Object, error) {
	scale, ok := after.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("wrong object passed to Scale update: %v", after))
	}
	if scale.Spec.Replicas == noReplicas {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty", path))
	}
	cr = cr.DeepCopy()
	if err := unstructured.SetNestedField(cr.Object, int64(scale.Spec.Replicas), splitPath(path)...); err != nil {
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
