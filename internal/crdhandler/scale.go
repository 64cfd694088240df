package crdhandler

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/crdhandler/scales"
)

// scaleConversion converts between the objects of a resource and autoscaling/v1 Scales. A write of a Scale stores its
// replicas only.
type scaleConversion interface {
	// read returns the Scale of an object. It fails if the object does not have the field of wanted replicas.
	read(parent runtime.Object) (runtime.Object, error)
	// shown returns the Scale of an object for admission, and after a write. It has zero replicas if the object does not
	// have the field.
	shown(parent runtime.Object) (runtime.Object, error)
	// edit returns the Scale of an object, with the managed fields that concern it, and a function that returns a copy of
	// the object with a changed Scale in it.
	edit(parent runtime.Object) (runtime.Object, func(runtime.Object) (runtime.Object, error), error)
}

// customResourceScale makes the Scales of custom resources of the fields that the definition names (S3).
type customResourceScale struct {
	info    *crdInfo
	version string
	hub     schema.GroupVersion
}

func (c *customResourceScale) paths() (scales.Paths, error) {
	version, err := c.info.version(c.version)
	if err != nil {
		return scales.Paths{}, err
	}
	scale := version.HasScale()
	if scale == nil {
		return scales.Paths{}, fmt.Errorf("version %s has no scale", c.version)
	}
	paths := scales.Paths{SpecReplicas: scale.SpecReplicasPath, StatusReplicas: scale.StatusReplicasPath}
	if scale.LabelSelectorPath != nil {
		paths.Selector = *scale.LabelSelectorPath
	}
	return paths, nil
}

func (c *customResourceScale) read(parent runtime.Object) (runtime.Object, error) {
	paths, err := c.paths()
	if err != nil {
		return nil, err
	}
	scale, found, err := paths.Scale(parent)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, apierrors.NewInternalError(fmt.Errorf("the spec replicas field %q does not exist", paths.SpecReplicas))
	}
	return scale, nil
}

func (c *customResourceScale) shown(parent runtime.Object) (runtime.Object, error) {
	paths, err := c.paths()
	if err != nil {
		return nil, err
	}
	scale, _, err := paths.Scale(parent)
	return scale, err
}

func (c *customResourceScale) edit(
	parent runtime.Object,
) (runtime.Object, func(runtime.Object) (runtime.Object, error), error) {
	paths, err := c.paths()
	if err != nil {
		return nil, nil, err
	}
	compiled, err := c.info.compiled()
	if err != nil {
		return nil, nil, err
	}
	before, found, err := paths.Scale(parent)
	if err != nil {
		return nil, nil, err
	}
	if !found {
		before.Spec.Replicas = scales.NoReplicas
	}
	fields := managedfields.NewScaleHandler(objectmeta.Accessor(parent).GetManagedFields(), c.hub, compiled.Set.ReplicasPathMappings())
	if before.ManagedFields, err = fields.ToSubresource(); err != nil {
		return nil, nil, err
	}
	return before, func(after runtime.Object) (runtime.Object, error) {
		return paths.Put(parent, after, fields)
	}, nil
}
