package crdhandler

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/warning"

	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/crdhandler/write"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
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
	if orphan := d.deletion.options.OrphanDependents; !res.Removed && orphan != nil && !*orphan {
		code = http.StatusAccepted
	}
	d.respond(w, code, d.deletedAs(ctx, res.Answer))
}

// deleteRequest is a decoded DELETE.
type deleteRequest struct {
	deletion  *deletion
	admission *write.Admission
	responder
}

func (s *requestScope) decodeDelete(ctx context.Context, req *http.Request) (*deleteRequest, error) {
	namespace, name, answer, err := s.addressed(req)
	if err != nil {
		return nil, err
	}
	options, err := s.decodeDeleteOptions(ctx, req)
	if err != nil {
		return nil, err
	}
	if s.deletion.warnings != nil {
		for _, text := range s.deletion.warnings(options) {
			warning.AddWarning(ctx, "", text)
		}
	}
	admission := s.Admission(ctx, write.Target{Namespace: namespace, Name: name, DryRun: isDryRun(options.DryRun)})
	return &deleteRequest{
		deletion: &deletion{
			scope: s, options: options, admit: admission.AdmitDelete, unconverted: answer.deletesUnconverted(),
		},
		admission: admission,
		responder: answer,
	}, nil
}

// run deletes the object, or removes one that cannot be read if the client asks for that.
func (d *deleteRequest) run(ctx context.Context) (write.Result, error) {
	if ignoresReadErrors(d.deletion.options) {
		res, err := d.deleteCorrupt(ctx)
		return write.Result{Answer: stored.Answer{Obj: res}, Removed: true}, err
	}
	var err error
	if d.deletion.key, err = d.scope.Key(d.admission.Namespace, d.admission.Name); err != nil {
		return write.Result{}, err
	}
	return d.deletion.run(ctx)
}

// deletionRules are the rules for the deletion of objects of a resource. None is needed.
type deletionRules struct {
	// finalize may change the live object of a DELETE. If it returns true, the changed object is stored and answered
	// instead of the generic deletion (C4).
	finalize func(obj runtime.Object) bool
	// protect may refuse the first DELETE. If it returns conditions, they are those under which nothing would be lost: the
	// object is removed at once, if it has no finalizers.
	protect func(ctx context.Context, obj runtime.Object) ([]dynamicstorage.Condition, error)
	// gracePeriod, orphans and warnings are GracePeriod, OrphansDependents and DeleteWarnings of resource.Definition.
	gracePeriod func(obj runtime.Object, options *metav1.DeleteOptions) int64
	orphans     bool
	warnings    func(options *metav1.DeleteOptions) []string
	// returnsDeleted answers a DELETE with the removed object instead of a Status.
	returnsDeleted bool
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

// run carries out the deletion. The result is a Status when the object is removed, else the object.
func (d *deletion) run(ctx context.Context) (write.Result, error) {
	dryRun := isDryRun(d.options.DryRun)
	options := write.Options{DryRun: dryRun, OrStored: d.unconverted && !dryRun}
	res, err := d.scope.Retry(ctx, d.key, d.propose, options)
	switch {
	case err != nil || !res.Removed:
	case d.scope.deletion.returnsDeleted && !dryRun:
		objectmeta.Accessor(res.Obj).SetResourceVersion(strconv.FormatInt(res.RemovedAt, 10))
	case !d.scope.deletion.returnsDeleted:
		res.Obj = d.status(objectmeta.Accessor(res.Obj).GetUID())
	}
	return res, err
}

func (d *deletion) name() string { return stored.Name(d.key) }

// status returns the answer to a deletion that removed the object. Clients see by it that they need not wait for
// finalizers.
func (d *deletion) status(uid types.UID) *metav1.Status {
	resource := d.scope.Resource
	return &metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{
		Name:  d.name(),
		Group: resource.Group,
		Kind:  resource.Resource, // upstream writes the resource here
		UID:   uid,
	}}
}

// propose removes the object, or marks it as being deleted.
func (d *deletion) propose(ctx context.Context, existing runtime.Object) (write.Proposal, error) {
	s := d.scope
	if existing == nil {
		return write.Proposal{}, s.NotFound(d.name())
	}
	m := objectmeta.Accessor(existing)
	if err := d.checkPreconditions(existing); err != nil {
		return write.Proposal{}, err
	}
	if s.deletion.finalize != nil { // upstream, admission sees which object is meant
		d.options = objectmeta.DeleteOnly(m.GetUID(), d.options)
	}
	if d.admit != nil {
		if err := d.admit(ctx, existing, d.options); err != nil {
			return write.Proposal{}, err
		}
	}
	first := s.deletion.finalize != nil && m.GetDeletionTimestamp() == nil
	var conditions []dynamicstorage.Condition
	if first && s.deletion.protect != nil {
		var err error
		if conditions, err = s.deletion.protect(ctx, existing); err != nil {
			return write.Proposal{}, err
		}
		if len(conditions) > 0 && len(m.GetFinalizers()) == 0 {
			return write.Proposal{Obj: existing, Remove: true, If: conditions}, nil
		}
	}
	began := first && s.deletion.finalize(existing)
	if !began && s.StaysTerminating(existing) {
		return write.Proposal{Obj: existing}, nil
	}
	grace := d.applyGracePeriod(existing, time.Now())
	if grace == gracePending {
		return write.Proposal{Obj: existing}, nil
	}
	finalizers := d.finalizers(m.GetFinalizers(), began)
	waits := grace == graceChanged && *m.GetDeletionGracePeriodSeconds() > 0
	if !began && !waits && len(finalizers) == 0 { // the answer may have the object as it was stored
		return write.Proposal{Obj: existing, Remove: true}, nil
	}
	m.SetFinalizers(finalizers)
	if !began && grace == noGrace {
		objectmeta.MarkDeleting(m, metav1.Now())
	}
	return write.Proposal{Obj: existing, If: conditions}, nil
}

// finalizers returns the finalizers of an object with those of the garbage collector that the options ask for. began
// says that a finalization has begun, as that of a namespace.
func (d *deletion) finalizers(present []string, began bool) []string {
	s, options := d.scope, d.options
	if !s.config.GarbageCollection || s.events {
		return present
	}
	if s.deletion.orphans {
		options = objectmeta.OrphanByDefault(present, options)
	}
	switch {
	case !began:
		return objectmeta.CollectorFinalizers(present, options)
	case s.BlocksDeletion != nil:
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
	kind := d.scope.StoredKind(existing)
	resource := schema.GroupResource{Group: kind.Group, Resource: kind.Kind}
	format := "the %[1]s in the precondition (%[2]s) does not match the %[1]s in record (%[3]s). " +
		"The object might have been %[4]s"
	if d.scope.deletion.finalize != nil {
		resource = d.scope.Resource.GroupResource()
		format = "precondition failed: %[1]s in precondition: %[2]s, %[1]s in object meta: %[3]s"
	}
	if d.scope.BlocksDeletion != nil { // a namespace
		format = "P" + format[1:]
	}
	if uid := preconditions.UID; uid != nil && *uid != m.GetUID() {
		err := fmt.Errorf(format, "UID", *uid, m.GetUID(), "deleted and then recreated")
		return apierrors.NewConflict(resource, d.name(), err)
	}
	if version := preconditions.ResourceVersion; version != nil && *version != m.GetResourceVersion() {
		err := fmt.Errorf(format, "ResourceVersion", *version, m.GetResourceVersion(), "modified")
		return apierrors.NewConflict(resource, d.name(), err)
	}
	return nil
}

// Objects can be deleted while their conversion webhook is down, if the client needs nothing of another version. When
// the conversion fails, the deletion continues with the objects in the version they are stored in.

// deletesUnconverted reports whether a DELETE continues without the webhook. Upstream's never does, and its suite
// checks that for clients that get objects of a version that is not stored. Ours does at the endpoint of the storage
// version, and for clients that only want metadata. These ask for metadata, or for protobuf first, as garbage
// collectors and namespace controllers do in a DELETE; protobuf cannot encode custom resources.
func (r responder) deletesUnconverted() bool {
	return r.scope.Objects.Codec.IsStorageVersion() || printing.IsMetadataOnly(r.media) ||
		strings.HasPrefix(r.req.Header.Get("Accept"), runtime.ContentTypeProtobuf)
}

// deletedAs returns the answer to a DELETE that left an object: the object, or a Status if the object cannot be
// converted to the version of the endpoint.
func (r responder) deletedAs(ctx context.Context, res stored.Answer) stored.Answer {
	if res.Entry == nil {
		return res
	}
	if _, err := r.scope.Objects.View(ctx, res.Entry); err != nil && ctx.Err() == nil {
		return stored.Answer{Obj: &metav1.Status{Status: metav1.StatusSuccess}}
	}
	return res
}
