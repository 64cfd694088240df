package crdhandler

import (
	"context"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/crdhandler/write"
)

// endpointAction is the action of an endpoint, and the function that does it.
type endpointAction struct {
	*resource.Action
	do resource.ActionFunc
	// objects is the endpoint of the objects that the action is on.
	objects *requestScope
}

// actionScope makes s the endpoint of an action on objects of d, which have the endpoint main. Bodies and answers have
// the kind of the action.
func (s *requestScope) actionScope(main *requestScope, d *resource.Definition, sub *resource.Subresource) {
	s.action = &endpointAction{Action: sub.Action, do: s.config.Actions[d.Plural+"/"+sub.Name], objects: main}
	s.Kind = sub.Action.GroupVersionKind()
	s.hub = s.Kind.GroupVersion()
	s.columns = nil
	s.setBuiltinFields(&resource.Definition{GroupVersion: s.hub, Kind: s.Kind.Kind, Object: sub.Action.Object}, nil)
}

// act answers POST at the endpoint of an action. The steps are those of a creation, except that nothing is stored.
func (s *requestScope) act(w http.ResponseWriter, req *http.Request) {
	ctx, cancel := s.writeContext(req)
	defer cancel()
	c, err := s.decodeCreate(ctx, req, false)
	if err != nil {
		s.err(err, w, req)
		return
	}
	answer, err := c.act(ctx)
	if err != nil {
		s.writeFailed(ctx, err, w, req)
		return
	}
	if status, ok := answer.(*metav1.Status); ok && status.Code == 0 {
		status.Code = http.StatusCreated
	}
	c.respond(w, http.StatusCreated, stored.Answer{Obj: answer})
}

// act builds and admits the body, and does the action.
func (c *createRequest) act(ctx context.Context) (runtime.Object, error) {
	body, err := c.build(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.Admit(ctx, body); err != nil {
		return nil, err
	}
	target := &actionObject{
		scope: c.scope.action.objects, namespace: c.Admission.Namespace, name: c.Admission.Name,
	}
	return c.scope.action.do(ctx, resource.ActionRequest{
		Namespace: c.Admission.Namespace, Name: c.Admission.Name, Body: body, Options: c.Options, Object: target,
		Admit: func(ctx context.Context, body runtime.Object) error {
			return c.Admission.Validate(ctx, write.Event{Operation: admission.Create, Obj: body, Options: c.Options})
		},
	})
}

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
