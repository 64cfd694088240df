package crdhandler

import (
	"context"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crdhandler/write"
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
	key, err := o.scope.Key(o.namespace, o.name)
	if err != nil {
		return "", err
	}
	propose := func(_ context.Context, existing runtime.Object) (write.Proposal, error) {
		if existing == nil {
			return write.Proposal{}, o.scope.NotFound(o.name)
		}
		return write.Proposal{Obj: existing}, change(existing)
	}
	res, err := o.scope.Retry(ctx, key, propose, write.Options{DryRun: dryRun})
	if err != nil || res.Entry == nil {
		return "", err
	}
	return strconv.FormatInt(res.Entry.Revision, 10), nil
}

// Delete implements resource.ActionObject.
func (o *actionObject) Delete(ctx context.Context, options *metav1.DeleteOptions) error {
	key, err := o.scope.Key(o.namespace, o.name)
	if err != nil {
		return err
	}
	d := deletion{scope: o.scope, key: key, options: options}
	_, err = d.run(ctx)
	return err
}
