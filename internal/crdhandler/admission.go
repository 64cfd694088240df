package crdhandler

import (
	"context"
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
)

// errTerminating answers the creation of an object while its CustomResourceDefinition is being deleted (R4).
var errTerminating = errors.New("create not allowed while custom resource definition is terminating")

// admitter runs admission for one request.
type admitter struct {
	scope           *requestScope
	namespace, name string
	dryRun          bool
	user            user.Info
	// terminating refuses creations, before mutating admission.
	terminating bool

	// mutating and validating are nil if there is no admission of that sort.
	mutating   admission.MutationInterface
	validating admission.ValidationInterface
}

// admissionTarget is the object that a request is about, as admission sees it.
type admissionTarget struct {
	namespace, name string
	dryRun          bool
	terminating     bool
}

// admitter returns the admitter of a request.
func (s *requestScope) admitter(ctx context.Context, t admissionTarget) *admitter {
	a := &admitter{scope: s, namespace: t.namespace, name: t.name, dryRun: t.dryRun, terminating: t.terminating}
	if s.resource == namespaceResource {
		a.namespace = t.name // to admission a namespace is in itself
	}
	a.user, _ = request.UserFrom(ctx)
	if s.config.admits() {
		chain := fieldmanager.NewManagedFieldsValidatingAdmissionController(admission.WithAudit(s.config.Admission))
		a.mutating, _ = chain.(admission.MutationInterface)
		a.validating, _ = chain.(admission.ValidationInterface)
	}
	return a
}

// admissionEvent is one call of admission. obj is nil for a deletion, old for a creation.
type admissionEvent struct {
	operation admission.Operation
	obj, old  runtime.Object
	options   runtime.Object
}

func (a *admitter) attributes(e admissionEvent) admission.Attributes {
	name := a.name
	if name == "" && e.obj != nil {
		name = objectmeta.Accessor(e.obj).GetName() // generated meanwhile
	}
	s := a.scope
	return admission.NewAttributesRecord(e.obj, e.old, s.kind, a.namespace, name, s.resource, s.subresource,
		e.operation, e.options, a.dryRun, a.user)
}

// admit lets the plugins of the resource and mutating admission change e.obj, and then asks the guard of the endpoint.
func (a *admitter) admit(ctx context.Context, e admissionEvent) error {
	if a.terminating && e.operation == admission.Create {
		return apierrors.NewForbidden(a.scope.resource.GroupResource(), a.name, errTerminating)
	}
	if len(a.scope.plugins) > 0 {
		plugins := func(ctx context.Context) error { return a.mutateByPlugins(ctx, e) }
		if err := plugins(ctx); err != nil {
			return err
		}
		ctx = resource.WithPlugins(ctx, plugins)
	}
	if err := a.mutate(ctx, e); err != nil || a.scope.guard == nil {
		return err
	}
	return a.scope.guard(ctx, e.obj, e.old)
}

// mutateByPlugins lets the plugins of the resource change e.obj.
func (a *admitter) mutateByPlugins(ctx context.Context, e admissionEvent) error {
	for _, plugin := range a.scope.plugins {
		if plugin.Mutate == nil {
			continue
		}
		if err := plugin.Mutate(ctx, e.obj, e.old); err != nil {
			return a.refused(e, err)
		}
	}
	return nil
}

// refused returns the API error for the error of a plugin.
func (a *admitter) refused(e admissionEvent, err error) error {
	if _, final := err.(apierrors.APIStatus); final { // not one that is wrapped: its text would be lost
		return err
	}
	return admission.NewForbidden(a.attributes(e), err)
}

func (a *admitter) mutate(ctx context.Context, e admissionEvent) error {
	if a.mutating == nil || !a.mutating.Handles(e.operation) {
		return nil
	}
	s := a.scope
	if s.storage.Admitted != nil {
		s.storage.Admitted.Store(true)
	}
	attributes := admission.NewAttributesRecord(e.obj, e.old, s.kind, a.namespace, a.name, s.resource, s.subresource,
		e.operation, e.options, a.dryRun, a.user)
	if err := a.mutating.Admit(ctx, attributes, s.objects); err != nil {
		return err
	}
	return checkAdmitted(e.obj)
}

// validate asks the plugins of the resource and the endpoint for their decisions, and calls validating admission with
// copies of the objects.
func (a *admitter) validate(ctx context.Context, e admissionEvent) error {
	for _, plugin := range a.scope.plugins {
		if plugin.Validate == nil {
			continue
		}
		if err := plugin.Validate(ctx, e.obj, e.old); err != nil {
			return a.refused(e, err)
		}
	}
	if decide := a.scope.decide; decide != nil {
		if err := decide(ctx, e.obj, e.old); err != nil {
			return admission.NewForbidden(a.attributes(e), err)
		}
	}
	if a.validating == nil || !a.validating.Handles(e.operation) {
		return nil
	}
	if e.obj != nil {
		e.obj = e.obj.DeepCopyObject()
	}
	if e.old != nil {
		e.old = e.old.DeepCopyObject()
	}
	return a.validating.Validate(ctx, a.attributes(e), a.scope.objects)
}

// reserve asks the quotas of the namespace about an object that all others have admitted.
func (a *admitter) reserve(ctx context.Context, e admissionEvent) error {
	s, quotas := a.scope, a.scope.config.Quotas
	if quotas == nil || !s.namespaced ||
		e.operation == admission.Update && !quotas.Updates(s.resource.GroupResource(), s.subresource) {
		return nil
	}
	return quotas.Reserve(ctx, a.namespace, func() admission.Attributes { return a.attributes(e) })
}

// admitDelete calls mutating and validating admission for the deletion of old.
func (a *admitter) admitDelete(ctx context.Context, old, options runtime.Object) error {
	if namespaces := a.scope.config.Namespaces; namespaces != nil && a.scope.resource == namespaceResource {
		if err := namespaces.ForDelete(objectmeta.Accessor(old).GetName()); err != nil {
			return err
		}
	}
	mutating := a.mutating != nil && a.mutating.Handles(admission.Delete)
	validating := a.validating != nil && a.validating.Handles(admission.Delete)
	if !mutating && !validating {
		return nil
	}
	attributes := a.attributes(admissionEvent{operation: admission.Delete, old: old.DeepCopyObject(), options: options})
	if mutating {
		if err := a.mutating.Admit(ctx, attributes, a.scope.objects); err != nil {
			return err
		}
	}
	if validating {
		return a.validating.Validate(ctx, attributes, a.scope.objects)
	}
	return nil
}

// authorizeCreate returns a function that decides whether the user may create the object of a request that was
// authorized as a patch: an apply that creates (W7). It calls the authorizer once.
func (a *admitter) authorizeCreate(path string) func(ctx context.Context) error {
	s := a.scope
	if s.config.Authorizer == nil {
		return func(context.Context) error { return nil }
	}
	attributes := authorizer.AttributesRecord{
		User:            a.user,
		ResourceRequest: true,
		Path:            path,
		Verb:            "create",
		APIGroup:        s.resource.Group,
		APIVersion:      s.resource.Version,
		Resource:        s.resource.Resource,
		Subresource:     s.subresource,
		Namespace:       a.namespace,
		Name:            a.name,
	}
	var once sync.Once
	var answer error
	return func(ctx context.Context) error {
		once.Do(func() {
			decision, reason, err := s.config.Authorizer.Authorize(ctx, attributes)
			switch {
			case decision == authorizer.DecisionAllow: // even with an error: another authorizer of the union may have failed
			case err != nil:
				answer = apierrors.NewInternalError(err)
			default:
				answer = responsewriters.ForbiddenStatusError(attributes, reason)
			}
		})
		return answer
	}
}

// validateUpdate calls validate for an update. At the scale endpoint admission sees Scales (S5).
func (a *admitter) validateUpdate(ctx context.Context, obj, old, options runtime.Object) error {
	validates := a.validating != nil && a.validating.Handles(admission.Update)
	if !validates && a.scope.decide == nil && len(a.scope.plugins) == 0 {
		return nil
	}
	if scale := a.scope.scale; scale != nil {
		var err error
		if obj, err = scale.Shown(obj); err != nil {
			return err
		}
		if old, err = scale.Shown(old); err != nil {
			return err
		}
	}
	return a.validate(ctx, admissionEvent{operation: admission.Update, obj: obj, old: old, options: options})
}
