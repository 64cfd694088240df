package scales

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/crdhandler/schemas"
)

// CustomResource makes the Scales of custom resources of the fields that the definition names (S3).
type CustomResource struct {
	Schemas *schemas.Cached
	Version string
	Hub     schema.GroupVersion
}

var _ Conversion = &CustomResource{}

// paths returns the fields that the definition names.
func (c *CustomResource) paths() (Paths, error) {
	version, err := c.Schemas.Version(c.Version)
	if err != nil {
		return Paths{}, err
	}
	scale := version.HasScale()
	if scale == nil {
		return Paths{}, fmt.Errorf("version %s has no scale", c.Version)
	}
	paths := Paths{SpecReplicas: scale.SpecReplicasPath, StatusReplicas: scale.StatusReplicasPath}
	if scale.LabelSelectorPath != nil {
		paths.Selector = *scale.LabelSelectorPath
	}
	return paths, nil
}

// Of implements Conversion.
func (c *CustomResource) Of(parent runtime.Object) (runtime.Object, error) {
	paths, err := c.paths()
	if err != nil {
		return nil, err
	}
	scale, found, err := paths.Scale(parent)
	if err != nil {
		return nil, err
	}
	if !found {
		err := fmt.Errorf("the spec replicas field %q does not exist", paths.SpecReplicas)
		return nil, apierrors.NewInternalError(err)
	}
	return scale, nil
}

// Shown implements Conversion.
func (c *CustomResource) Shown(parent runtime.Object) (runtime.Object, error) {
	paths, err := c.paths()
	if err != nil {
		return nil, err
	}
	scale, _, err := paths.Scale(parent)
	return scale, err
}

// Edit implements Conversion.
func (c *CustomResource) Edit(
	parent runtime.Object,
) (runtime.Object, func(runtime.Object) (runtime.Object, error), error) {
	paths, err := c.paths()
	if err != nil {
		return nil, nil, err
	}
	compiled, err := c.Schemas.Get()
	if err != nil {
		return nil, nil, err
	}
	before, found, err := paths.Scale(parent)
	if err != nil {
		return nil, nil, err
	}
	if !found {
		before.Spec.Replicas = NoReplicas
	}
	fields := managedfields.NewScaleHandler(
		objectmeta.Accessor(parent).GetManagedFields(), c.Hub, compiled.Set.ReplicasPathMappings())
	if before.ManagedFields, err = fields.ToSubresource(); err != nil {
		return nil, nil, err
	}
	return before, func(after runtime.Object) (runtime.Object, error) {
		return paths.Put(parent, after, fields)
	}, nil
}
