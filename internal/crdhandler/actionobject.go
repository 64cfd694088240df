package crdhandler

import (
	"context"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
)

// actionObject is the object that an action is on.
type actionObject struct {
	scope           *requestScope
	namespace, name string
}

var _ resource.ActionObject = &actionObject{}

// Read implements resource.ActionObject.
func (o *actionObject) Read(ctx context.Context) (read runtime.Object, err error) {
	_, err = o.Update(ctx, true, func(obj runtime.Object) error {
		read = obj.DeepCopyObject()
		return nil
	})
	return read, err
}

// Update implements resource.ActionObject.
func (o *actionObject) Update(
	ctx context.Context, dryRun bool, change func(obj runtime.Object) error,
) (version string, err error) {
	key, err := stored.Key(o.scope.namespaced, o.namespace, o.name)
	if err != nil {
		return "", err
	}
	update := guardedUpdate{scope: o.scope, key: key, change: &actionChange{o, change}, dryRun: dryRun}
	res, err := update.run(ctx)
	if err != nil || res.entry == nil {
		return "", err
	}
	return strconv.FormatInt(res.entry.Revision, 10), nil
}

// Delete implements resource.ActionObject.
func (o *actionObject) Delete(ctx context.Context, options *metav1.DeleteOptions) error {
	key, err := stored.Key(o.scope.namespaced, o.namespace, o.name)
	if err != nil {
		return err
	}
	d := deletion{scope: o.scope, key: key, options: options}
	_, err = d.run(ctx)
	return err
}

// actionChange is a change that an action makes.
type actionChange struct {
	*actionObject
	change func(obj runtime.Object) error
}

var _ objectChange = &actionChange{}

// propose implements objectChange.
func (c *actionChange) propose(_ context.Context, existing runtime.Object) (proposal, error) {
	if existing == nil {
		return proposal{}, apierrors.NewNotFound(c.scope.resource.GroupResource(), c.name)
	}
	if err := c.change(existing); err != nil {
		return proposal{}, err
	}
	return proposal{obj: existing}, nil
}
