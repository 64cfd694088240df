package crdhandler

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/crdhandler/write"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// unsafeVerb is the verb that authorizes the deletion of an object that cannot be read.
const unsafeVerb = "unsafe-delete-ignore-read-errors"

// errReadable says that an object can be read, so it can be deleted as any other.
var errReadable = errors.New("object can be read")

// errDryRun ends a dry run before it removes anything.
var errDryRun = errors.New("dry run")

// deleteCorrupt removes an object that cannot be read. It refuses to remove any other, because it cannot respect
// preconditions, finalizers and admission (W18).
func (d *deleteRequest) deleteCorrupt(ctx context.Context) (runtime.Object, error) {
	s, a := d.scope, d.admission
	audit.AddAuditAnnotation(ctx, "apiserver.k8s.io/unsafe-delete-ignore-read-error", "")
	if err := d.authorizeUnsafe(ctx); err != nil {
		return nil, err
	}
	key, err := s.Key(a.Namespace, a.Name)
	if err != nil {
		return nil, err
	}
	remove := func(ctx context.Context, current *dynamicstorage.Entry) (dynamicstorage.Change, error) {
		if current == nil {
			return dynamicstorage.Change{}, dynamicstorage.ErrNotFound
		}
		if _, err := s.Objects.Object(ctx, current); err == nil {
			return dynamicstorage.Change{}, errReadable
		}
		if a.DryRun {
			return dynamicstorage.Change{}, errDryRun
		}
		return dynamicstorage.Change{Op: dynamicstorage.Delete}, nil
	}
	_, err = s.Objects.Resource.Update(ctx, key, remove, dynamicstorage.UpdateOptions{Fresh: true})
	switch {
	case errors.Is(err, errReadable):
		return nil, a.PreconditionFailed("unsafe deletion is not allowed because the object is decodable from storage")
	case err != nil && !errors.Is(err, errDryRun):
		return nil, s.APIError(err, a.Name)
	}
	klog.FromContext(ctx).Info("Deleted an object that could not be read", "resource", s.Resource.GroupResource(),
		"object", klog.KRef(a.Namespace, a.Name), "dryRun", a.DryRun)
	if !a.DryRun {
		s.WaitInEffect(ctx, a.Name)
	}
	return &metav1.Status{
		Status:  metav1.StatusSuccess,
		Code:    200,
		Details: &metav1.StatusDetails{Name: a.Name, Kind: s.Kind.Kind},
	}, nil
}

// authorizeUnsafe asks the authorizer whether the user may delete an object that cannot be read.
func (d *deleteRequest) authorizeUnsafe(ctx context.Context) error {
	a := d.admission
	if a.Policy.Authorizer == nil {
		return nil
	}
	attributes := a.Attributes(write.Event{Operation: admission.Delete, Options: d.deletion.options})
	info, ok := request.RequestInfoFrom(ctx)
	switch {
	case !ok:
		return admission.NewForbidden(attributes, errors.New("no RequestInfo found in the context"))
	case !info.IsResourceRequest || a.Subresource != "":
		return admission.NewForbidden(attributes, errors.New("ignoreStoreReadErrorWithClusterBreakingPotential "+
			"delete option is not allowed on a subresource or non-resource request"))
	}
	decision, reason, err := a.Policy.Authorizer.Authorize(ctx, unsafeAttributes(a, info))
	switch {
	case err != nil:
		err = fmt.Errorf("error while checking permission for %q, %w", unsafeVerb, err)
		return admission.NewForbidden(attributes, err)
	case decision != authorizer.DecisionAllow:
		return admission.NewForbidden(attributes, fmt.Errorf("not permitted to do %q, reason: %s", unsafeVerb, reason))
	}
	return nil
}

// unsafeAttributes returns the attributes of the deletion of an object that cannot be read.
func unsafeAttributes(a *write.Admission, info *request.RequestInfo) authorizer.Attributes {
	record := authorizer.AttributesRecord{
		User:            a.User,
		Verb:            unsafeVerb,
		Namespace:       a.Namespace,
		Name:            a.Name,
		APIGroup:        a.Resource.Group,
		APIVersion:      a.Resource.Version,
		Resource:        a.Resource.Resource,
		ResourceRequest: true,
	}
	if info.FieldSelector != "" {
		selector, err := fields.ParseSelector(info.FieldSelector)
		if record.FieldSelectorParsingErr = err; err == nil {
			record.FieldSelectorRequirements = selector.Requirements()
		}
	}
	if info.LabelSelector != "" {
		selector, err := labels.Parse(info.LabelSelector)
		if record.LabelSelectorParsingErr = err; err == nil {
			record.LabelSelectorRequirements, _ = selector.Requirements()
		}
	}
	return record
}
