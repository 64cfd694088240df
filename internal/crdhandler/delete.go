package crdhandler

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/warning"

	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
)

// delete answers DELETE of one object.
func (s *requestScope) delete(w http.ResponseWriter, req *http.Request) {
	ctx, cancel := s.writeContext(req)
	defer cancel()
	d, err := s.decodeDelete(ctx, req)
	if err != nil {
		s.err(err, w, req)
		return
	}
	res, err := d.run(ctx)
	if err != nil {
		s.writeFailed(ctx, err, w, req)
		return
	}
	code := http.StatusOK
	//lint:ignore SA1019 old clients set it
	if orphan := d.deletion.options.OrphanDependents; !res.removed && orphan != nil && !*orphan {
		code = http.StatusAccepted
	}
	s.respond(w, req, code, d.media, s.deletedAs(ctx, res.result))
}

// deleteRequest is a decoded DELETE.
type deleteRequest struct {
	deletion  *deletion
	admission *admitter
	media     negotiation.MediaTypeOptions
}

func (s *requestScope) decodeDelete(ctx context.Context, req *http.Request) (*deleteRequest, error) {
	namespace, name, media, err := s.addressed(req)
	if err != nil {
		return nil, err
	}
	options, err := s.decodeDeleteOptions(ctx, req)
	if err != nil {
		return nil, err
	}
	if s.deleteWarnings != nil {
		for _, text := range s.deleteWarnings(options) {
			warning.AddWarning(ctx, "", text)
		}
	}
	admission := s.admitter(ctx, admissionTarget{namespace: namespace, name: name, dryRun: isDryRun(options.DryRun)})
	return &deleteRequest{
		deletion: &deletion{
			scope: s, options: options, admit: admission.admitDelete, unconverted: s.deletesUnconverted(req, media),
		},
		admission: admission,
		media:     media,
	}, nil
}

// run deletes the object, or removes one that cannot be read if the client asks for that.
func (d *deleteRequest) run(ctx context.Context) (updateResult, error) {
	if ignoresReadErrors(d.deletion.options) {
		res, err := d.deletion.scope.deleteCorrupt(ctx, d.admission, d.deletion.options)
		return updateResult{result: res, removed: true}, err
	}
	var err error
	if d.deletion.key, err = stored.Key(d.deletion.scope.namespaced, d.admission.namespace, d.admission.name); err != nil {
		return updateResult{}, err
	}
	return d.deletion.run(ctx)
}

// deletion deletes one object, or marks it as being deleted while it has finalizers.
type deletion struct {
	scope   *requestScope
	key     string
	options *metav1.DeleteOptions
	// admit, if set, may refuse the deletion of an object.
	admit func(ctx context.Context, old, options runtime.Object) error
	// unconverted deletes an object even if it cannot be converted.
	unconverted bool
}

var _ objectChange = &deletion{}

// run carries out the deletion. The result is a Status when the object is removed, else the object.
func (d *deletion) run(ctx context.Context) (updateResult, error) {
	dryRun := isDryRun(d.options.DryRun)
	update := guardedUpdate{scope: d.scope, key: d.key, change: d, dryRun: dryRun, orStored: d.unconverted && !dryRun}
	res, err := update.run(ctx)
	switch {
	case err != nil || !res.removed:
	case d.scope.returnsDeleted && !dryRun:
		objectmeta.Accessor(res.obj).SetResourceVersion(strconv.FormatInt(res.removedAt, 10))
	case !d.scope.returnsDeleted:
		res.result = result{obj: d.status(objectmeta.Accessor(res.obj).GetUID())}
	}
	return res, err
}

// deleteInstance deletes an object of a CustomResourceDefinition that is being deleted, without asking admission.
// left says that the object waits for its finalizers.
func (s *requestScope) deleteInstance(ctx context.Context, key string) (left bool, err error) {
	d := deletion{scope: s, key: key, options: &metav1.DeleteOptions{}, unconverted: true}
	res, err := d.run(ctx)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && !res.removed, err
}

func (d *deletion) name() string { return stored.Name(d.key) }

// status returns the answer to a deletion that removed the object. Clients see by it that they need not wait for
// finalizers.
func (d *deletion) status(uid types.UID) *metav1.Status {
	resource := d.scope.resource
	return &metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{
		Name:  d.name(),
		Group: resource.Group,
		Kind:  resource.Resource, // upstream writes the resource here
		UID:   uid,
	}}
}

// propose implements objectChange.
func (d *deletion) propose(ctx context.Context, existing runtime.Object) (proposal, error) {
	s := d.scope
	if existing == nil {
		return proposal{}, apierrors.NewNotFound(s.resource.GroupResource(), d.name())
	}
	m := objectmeta.Accessor(existing)
	if err := d.checkPreconditions(existing); err != nil {
		return proposal{}, err
	}
	if s.finalize != nil { // upstream, admission sees which object is meant
		d.options = objectmeta.DeleteOnly(m.GetUID(), d.options)
	}
	if d.admit != nil {
		if err := d.admit(ctx, existing, d.options); err != nil {
			return proposal{}, err
		}
	}
	began := s.finalize != nil && m.GetDeletionTimestamp() == nil && s.finalize(existing)
	if !began && s.holds(existing) {
		return proposal{obj: existing}, nil
	}
	grace := d.applyGracePeriod(existing, time.Now())
	if grace == gracePending {
		return proposal{obj: existing}, nil
	}
	finalizers := d.finalizers(m.GetFinalizers(), began)
	waits := grace == graceChanged && *m.GetDeletionGracePeriodSeconds() > 0
	if !began && !waits && len(finalizers) == 0 { // the answer may have the object as it was stored
		return proposal{obj: existing, remove: true}, nil
	}
	m.SetFinalizers(finalizers)
	if !began && grace == noGrace {
		objectmeta.MarkDeleting(m, metav1.Now())
	}
	return proposal{obj: existing}, nil
}

// finalizers returns the finalizers of an object with those of the garbage collector that the options ask for. began
// says that a finalization has begun, as that of a namespace.
func (d *deletion) finalizers(present []string, began bool) []string {
	s, options := d.scope, d.options
	if !s.config.GarbageCollection || s.events {
		return present
	}
	if s.orphans {
		options = objectmeta.OrphanByDefault(present, options)
	}
	switch {
	case !began:
		return objectmeta.CollectorFinalizers(present, options)
	case s.held != nil:
		return objectmeta.NamespaceCollectorFinalizers(present, options)
	}
	return present
}

// checkPreconditions checks that the object is the one that the client means.
func (d *deletion) checkPreconditions(existing runtime.Object) error {
	m, preconditions := objectmeta.Accessor(existing), d.options.Preconditions
	if preconditions == nil {
		return nil
	}
	// The first step of the deletion of a CRD has other messages (C4).
	kind := d.scope.storedKind(existing)
	resource := schema.GroupResource{Group: kind.Group, Resource: kind.Kind}
	format := "the %[1]s in the precondition (%[2]s) does not match the %[1]s in record (%[3]s). The object might have been %[4]s"
	if d.scope.finalize != nil {
		resource = d.scope.resource.GroupResource()
		format = "precondition failed: %[1]s in precondition: %[2]s, %[1]s in object meta: %[3]s"
	}
	if d.scope.held != nil { // a namespace
		format = "P" + format[1:]
	}
	if uid := preconditions.UID; uid != nil && *uid != m.GetUID() {
		return apierrors.NewConflict(resource, d.name(), fmt.Errorf(format, "UID", *uid, m.GetUID(), "deleted and then recreated"))
	}
	if version := preconditions.ResourceVersion; version != nil && *version != m.GetResourceVersion() {
		return apierrors.NewConflict(resource, d.name(), fmt.Errorf(format, "ResourceVersion", *version, m.GetResourceVersion(), "modified"))
	}
	return nil
}
