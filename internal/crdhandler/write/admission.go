package write

import (
	"context"
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/objectjson"
)

// errTerminating answers the creation of an object while its CustomResourceDefinition is being deleted (R4).
var errTerminating = errors.New("create not allowed while custom resource definition is terminating")

// Admission runs admission for one request.
type Admission struct {
	*Endpoint
	Target
	User user.Info

	// mutating and validating are those of Policy.Admission, nil if there is no admission of that sort.
	mutating   admission.MutationInterface
	validating admission.ValidationInterface
}

// Target is the object that a request is about, as admission sees it.
type Target struct {
	Namespace, Name string
	DryRun          bool
	// Terminating refuses creations, before mutating admission.
	Terminating bool
}

// Admission returns the admission of a request.
func (e *Endpoint) Admission(ctx context.Context, t Target) *Admission {
	a := &Admission{Endpoint: e, Target: t}
	if e.Resource == NamespaceResource {
		a.Namespace = t.Name // to admission a namespace is in itself
	}
	a.User, _ = request.UserFrom(ctx)
	if e.Policy.admits() {
		chain := fieldmanager.NewManagedFieldsValidatingAdmissionController(admission.WithAudit(e.Policy.Admission))
		a.mutating, _ = chain.(admission.MutationInterface)
		a.validating, _ = chain.(admission.ValidationInterface)
	}
	return a
}

// Event is one call of admission. Obj is nil for a deletion, Old for a creation.
type Event struct {
	Operation admission.Operation
	Obj, Old  runtime.Object
	Options   runtime.Object
}

// Attributes describes an event to admission.
func (a *Admission) Attributes(e Event) admission.Attributes {
	name := a.Name
	if name == "" && e.Obj != nil {
		name = objectmeta.Accessor(e.Obj).GetName() // generated meanwhile
	}
	return admission.NewAttributesRecord(e.Obj, e.Old, a.Kind, a.Namespace, name, a.Resource, a.Subresource,
		e.Operation, e.Options, a.DryRun, a.User)
}

// Admit lets the plugins of the endpoint and mutating admission change e.Obj. Then it asks the plugins whether the user
// may write it.
func (a *Admission) Admit(ctx context.Context, e Event) error {
	if a.Terminating && e.Operation == admission.Create {
		return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, errTerminating)
	}
	if len(a.Plugins) > 0 {
		plugins := func(ctx context.Context) error { return a.mutateByPlugins(ctx, e) }
		if err := plugins(ctx); err != nil {
			return err
		}
		ctx = resource.WithPlugins(ctx, plugins)
	}
	if err := a.mutate(ctx, e); err != nil {
		return err
	}
	for _, plugin := range a.Plugins {
		if plugin.Authorize == nil {
			continue
		}
		if err := plugin.Authorize(ctx, e.Obj, e.Old); err != nil {
			return err
		}
	}
	return nil
}

// mutateByPlugins lets the plugins of the endpoint change e.Obj.
func (a *Admission) mutateByPlugins(ctx context.Context, e Event) error {
	for _, plugin := range a.Plugins {
		if plugin.Mutate == nil {
			continue
		}
		if err := plugin.Mutate(ctx, e.Obj, e.Old); err != nil {
			return a.refused(e, err)
		}
	}
	return nil
}

// refused returns the API error for the error of a plugin.
func (a *Admission) refused(e Event, err error) error {
	if _, final := err.(apierrors.APIStatus); final { // not one that is wrapped: its text would be lost
		return err
	}
	return admission.NewForbidden(a.Attributes(e), err)
}

func (a *Admission) mutate(ctx context.Context, e Event) error {
	if a.mutating == nil || !a.mutating.Handles(e.Operation) {
		return nil
	}
	if a.Objects.Admitted != nil {
		a.Objects.Admitted.Store(true)
	}
	if err := a.mutating.Admit(ctx, a.Attributes(e), a.Interfaces); err != nil {
		return err
	}
	return checkAdmitted(e.Obj)
}

// checkAdmitted refuses an object that mutating admission has made larger than a body may be.
func checkAdmitted(obj runtime.Object) error {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil // there is no such object, or its type bounds it
	}
	if err := objectjson.CheckValue(u.Object); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return objectmeta.CheckUnstructuredEntries(u.Object)
}

// Validate asks the plugins of the endpoint for their decisions, and calls validating admission with copies of the
// objects.
func (a *Admission) Validate(ctx context.Context, e Event) error {
	for _, plugin := range a.Plugins {
		if plugin.Validate == nil {
			continue
		}
		if err := plugin.Validate(ctx, e.Obj, e.Old); err != nil {
			return a.refused(e, err)
		}
	}
	if a.validating == nil || !a.validating.Handles(e.Operation) {
		return nil
	}
	if e.Obj != nil {
		e.Obj = e.Obj.DeepCopyObject()
	}
	if e.Old != nil {
		e.Old = e.Old.DeepCopyObject()
	}
	return a.validating.Validate(ctx, a.Attributes(e), a.Interfaces)
}

// reserve asks the quotas of the namespace about an object that all others have admitted.
func (a *Admission) reserve(ctx context.Context, e Event) error {
	quotas := a.Policy.Quotas
	if quotas == nil || !a.Namespaced ||
		e.Operation == admission.Update && !quotas.Updates(a.Resource.GroupResource(), a.Subresource) {
		return nil
	}
	return quotas.Reserve(ctx, a.Namespace, func() admission.Attributes { return a.Attributes(e) })
}

// AdmitDelete calls mutating and validating admission for the deletion of old.
func (a *Admission) AdmitDelete(ctx context.Context, old, options runtime.Object) error {
	if namespaces := a.Policy.Namespaces; namespaces != nil && a.Resource == NamespaceResource {
		if err := namespaces.ForDelete(objectmeta.Accessor(old).GetName()); err != nil {
			return err
		}
	}
	mutating := a.mutating != nil && a.mutating.Handles(admission.Delete)
	validating := a.validating != nil && a.validating.Handles(admission.Delete)
	if !mutating && !validating {
		return nil
	}
	attributes := a.Attributes(Event{Operation: admission.Delete, Old: old.DeepCopyObject(), Options: options})
	if mutating {
		if err := a.mutating.Admit(ctx, attributes, a.Interfaces); err != nil {
			return err
		}
	}
	if validating {
		return a.validating.Validate(ctx, attributes, a.Interfaces)
	}
	return nil
}

// AuthorizeCreate returns a function that decides whether the user may create the object of a request that was
// authorized as a patch: an apply that creates (W7). It calls the authorizer once.
func (a *Admission) AuthorizeCreate(path string) func(ctx context.Context) error {
	if a.Policy.Authorizer == nil {
		return func(context.Context) error { return nil }
	}
	attributes := authorizer.AttributesRecord{
		User:            a.User,
		ResourceRequest: true,
		Path:            path,
		Verb:            "create",
		APIGroup:        a.Resource.Group,
		APIVersion:      a.Resource.Version,
		Resource:        a.Resource.Resource,
		Subresource:     a.Subresource,
		Namespace:       a.Namespace,
		Name:            a.Name,
	}
	var once sync.Once
	var answer error
	return func(ctx context.Context) error {
		once.Do(func() {
			decision, reason, err := a.Policy.Authorizer.Authorize(ctx, attributes)
			switch {
			case decision == authorizer.DecisionAllow: // even with an error of another authorizer of the union
			case err != nil:
				answer = apierrors.NewInternalError(err)
			default:
				answer = responsewriters.ForbiddenStatusError(attributes, reason)
			}
		})
		return answer
	}
}

// validateUpdate calls Validate for an update. At the scale endpoint admission sees Scales (S5).
func (a *Admission) validateUpdate(ctx context.Context, obj, old, options runtime.Object) error {
	validates := a.validating != nil && a.validating.Handles(admission.Update)
	if !validates && len(a.Plugins) == 0 {
		return nil
	}
	if scale := a.Scale; scale != nil {
		var err error
		if obj, err = scale.Shown(obj); err != nil {
			return err
		}
		if old, err = scale.Shown(old); err != nil {
			return err
		}
	}
	return a.Validate(ctx, Event{Operation: admission.Update, Obj: obj, Old: old, Options: options})
}

// Policy decides which writes the server allows. All resources share one Policy.
type Policy struct {
	// Authorizer decides about applies that create an object, and about unsafe deletions; nil allows all.
	Authorizer authorizer.Authorizer
	// Namespaces decides in which namespaces objects may be created; nil for all, whether they exist or not.
	Namespaces NamespaceLifecycle
	// Quotas limit what the objects in namespaces use; nil for no limits.
	Quotas ResourceQuotas
	// Admission is mutating and validating admission: webhooks, policies, and what a program that embeds the server
	// adds. It admits objects before they are stored; nil admits all. The plugins of single endpoints are in Hooks.
	Admission admission.Interface
}

// admits reports whether Admission has anything to do at present. Webhooks and policies have nothing while there are
// none.
func (p *Policy) admits() bool {
	a := p.Admission
	return a != nil && (a.Handles(admission.Create) || a.Handles(admission.Update) || a.Handles(admission.Delete))
}

// NamespaceLifecycle decides about namespaces as the admission plugin of that name. It comes before all other
// admission. Package controllers/namespaces implements it.
type NamespaceLifecycle interface {
	// ForCreate returns a condition for the commit of a new object in a namespace, which holds while the decision is
	// right. If it does not hold, ForCreate is called again, with fresh. attributes are those of the request.
	ForCreate(
		ctx context.Context, namespace string, fresh bool, attributes func() admission.Attributes,
	) (dynamicstorage.Condition, error)
	// ForDelete returns the answer to the deletion of a namespace that must stay, else nil.
	ForDelete(namespace string) error
}

// ResourceQuotas decides about objects as the admission plugin ResourceQuota. It comes after all other admission.
// Package controllers/quota implements it.
type ResourceQuotas interface {
	// Updates reports whether updates at an endpoint may change what an object uses.
	Updates(resource schema.GroupResource, subresource string) bool
	// Reserve adds what a new or updated object uses to the usage of its namespace, or returns the answer to a request
	// that exceeds a quota.
	Reserve(ctx context.Context, namespace string, attributes func() admission.Attributes) error
}
