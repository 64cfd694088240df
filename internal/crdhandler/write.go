package crdhandler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// writeTimeout bounds every write but deletecollection (W12).
const writeTimeout = 34 * time.Second

// errTooLarge has the words of etcd, which clients know.
var errTooLarge = errors.New("etcdserver: request is too large")

// writeAnswer is what a write answers with.
type writeAnswer struct {
	code  int
	media negotiation.MediaTypeOptions
	result
}

// serveWrite runs a write under its time limit and answers with what it returns.
func (s *requestScope) serveWrite(w http.ResponseWriter, req *http.Request, write func(ctx context.Context) (writeAnswer, error)) {
	namespace, _ := s.target(req)
	ctx, cancel := context.WithTimeout(req.Context(), writeTimeout)
	defer cancel()
	a, err := write(request.WithNamespace(ctx, namespace))
	if err != nil {
		s.err(err, w, req)
		return
	}
	s.respond(w, req, a.code, a.media, a.result)
}

// addressed returns the object that a request names, as most writes must, and what to answer in.
func (s *requestScope) addressed(req *http.Request) (namespace, name string, media negotiation.MediaTypeOptions, err error) {
	if namespace, name = s.target(req); name == "" {
		return "", "", media, errNoName
	}
	media, err = s.negotiate(req)
	return namespace, name, media, err
}

// finished turns the error of a write into the answer, when it ran out of time or is larger than etcd takes.
func finished(ctx context.Context, err error) error {
	switch {
	case err != nil && ctx.Err() != nil:
		return apierrors.NewTimeoutError(fmt.Sprintf("request did not complete within requested timeout - %s", ctx.Err()), 0)
	case errors.Is(err, dynamicstorage.ErrTooLarge):
		return errTooLarge
	}
	return err
}

// settled waits until the write of an object is in effect. The write is done: a failure here cannot undo it.
func (s *requestScope) settled(ctx context.Context, name string, dryRun bool) {
	if s.settle == nil || dryRun {
		return
	}
	if err := s.settle(ctx, name); err != nil {
		klog.FromContext(ctx).Error(err, "Written object is not in effect yet", "resource", s.resource, "name", name)
	}
}

// replacement is what update, patch and apply have in common: one guarded change of an object, repeated on
// the fresh object when somebody else was faster.
type replacement struct {
	scope           *requestScope
	namespace, name string
	dryRun          bool
	// uid is that of the object meant; empty for any.
	uid types.UID
	// mayCreate makes the object when it is missing, if authorizeCreate, which must be set then, agrees.
	mayCreate bool
	// next returns the new object, made of the live one, which it must not modify; live is nil when there is none. Where
	// the endpoint has a part, both are the part.
	next func(ctx context.Context, live runtime.Object) (runtime.Object, error)
	// validateCreate and validateUpdate have the last say.
	validateCreate func(ctx context.Context, obj runtime.Object) error
	validateUpdate func(ctx context.Context, obj, old runtime.Object) error
	// merged is that of the outcome.
	merged bool
	// memory, if set, spares attempts that are known to change nothing.
	memory *changeMemory

	// created says that the last attempt was to make the object.
	created bool
	// removed is the object as the last attempt would have stored it, had it not been the end of its deletion.
	removed runtime.Object
}

// run carries out the replacement.
func (r *replacement) run(ctx context.Context) (result, error) {
	s := r.scope
	key, err := s.objectKey(r.namespace, r.name)
	if err != nil {
		return result{}, err
	}
	entry, obj, err := s.storage.apply(ctx, update{key: key, change: r.change, memory: r.memory})
	if err != nil {
		return result{}, s.writeError(err, r.name)
	}
	if r.removed != nil {
		entry, obj = nil, r.removed
	}
	if entry == nil && s.part != nil {
		if obj, err = s.part.read(obj); err != nil {
			return result{}, apierrors.NewBadRequest(err.Error())
		}
	}
	s.settled(ctx, r.name, r.dryRun)
	return result{entry: entry, obj: obj}, nil
}

// writeError is storageError, but for ErrTooLarge, which the verbs look for.
func (s *requestScope) writeError(err error, name string) error {
	if errors.Is(err, dynamicstorage.ErrTooLarge) {
		return err
	}
	return s.storageError(err, name)
}

// spared takes the place of an attempt that would change nothing.
func (r *replacement) spared() { r.created, r.removed = false, nil }

// change is one attempt.
func (r *replacement) change(ctx context.Context, existing runtime.Object) (outcome, error) {
	r.created, r.removed = existing == nil, nil
	switch {
	case existing != nil:
		if r.memory != nil {
			r.memory.look(existing)
		}
		return r.update(ctx, existing)
	case r.mayCreate:
		return r.create(ctx)
	}
	return outcome{}, apierrors.NewNotFound(r.scope.resource.GroupResource(), r.name)
}

// create makes the object.
func (r *replacement) create(ctx context.Context) (outcome, error) {
	obj, err := r.next(ctx, nil)
	if err != nil {
		return outcome{}, err
	}
	if _, err := resourceVersionOf(obj); err != nil {
		return outcome{}, err
	}
	m := accessor(obj)
	wipeSystemFields(m)
	fillSystemFields(m)
	if err := r.scope.beforeCreate(ctx, r.namespace, obj); err != nil {
		return outcome{}, err
	}
	if err := r.validateCreate(ctx, obj); err != nil {
		return outcome{}, err
	}
	return outcome{obj: obj, dryRun: r.dryRun, merged: r.merged}, nil
}

// update changes the object.
func (r *replacement) update(ctx context.Context, existing runtime.Object) (outcome, error) {
	s := r.scope
	if uid := accessor(existing).GetUID(); r.uid != "" && r.uid != uid {
		return outcome{}, s.preconditionFailed(r.namespace, r.name, fmt.Sprintf(
			"Precondition failed: UID in precondition: %v, UID in object meta: %v", r.uid, uid))
	}
	obj, err := r.updated(ctx, existing)
	if err != nil {
		return outcome{}, err
	}
	if err := s.checkResourceVersion(obj, existing, r.name); err != nil {
		return outcome{}, err
	}
	if err := s.beforeUpdate(ctx, r.namespace, obj, existing); err != nil {
		return outcome{}, err
	}
	// A change of nothing but times in the managed fields is none.
	if obj, err = keepTimestamps(ctx, obj, existing); err != nil {
		return outcome{}, err
	}
	if err := r.validateUpdate(ctx, obj, existing); err != nil {
		return outcome{}, err
	}
	if finalized(obj, existing) {
		r.removed = obj
		if r.dryRun {
			return outcome{obj: obj, dryRun: true}, nil
		}
		return outcome{remove: true}, nil
	}
	return outcome{obj: obj, dryRun: r.dryRun, merged: r.merged}, nil
}

// updated returns the whole new object, made by next of existing or of its part.
func (r *replacement) updated(ctx context.Context, existing runtime.Object) (runtime.Object, error) {
	if r.scope.part == nil {
		return r.next(ctx, existing)
	}
	before, apply, err := r.scope.part.edit(existing)
	if err != nil {
		return nil, err
	}
	after, err := r.next(ctx, before)
	if err != nil {
		return nil, err
	}
	return apply(after)
}

// checkResourceVersion holds an update to the state of the object it was made for (W4).
func (s *requestScope) checkResourceVersion(obj, existing runtime.Object, name string) error {
	resource := s.resource.GroupResource()
	revision, err := resourceVersionOf(obj)
	if err != nil {
		return err
	}
	if revision == 0 {
		kind := schema.GroupKind{Group: resource.Group, Kind: resource.Resource}
		return apierrors.NewInvalid(kind, name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), revision, "must be specified for an update")})
	}
	live, err := resourceVersionOf(existing)
	if err != nil {
		return err
	}
	if revision != live {
		return apierrors.NewConflict(resource, name, errors.New(
			"the object has been modified; please apply your changes to the latest version and try again"))
	}
	return nil
}

// resourceVersionOf reads the resourceVersion of an object; 0 if there is none.
func resourceVersionOf(obj runtime.Object) (uint64, error) {
	version := accessor(obj).GetResourceVersion()
	if version == "" {
		return 0, nil
	}
	return strconv.ParseUint(version, 10, 64)
}

// preconditionFailed is upstream's answer to an object that is not the one a write was meant for.
func (s *requestScope) preconditionFailed(namespace, name, text string) error {
	resource := s.resource.GroupResource()
	key := "/registry/" + resource.Group + "/" + resource.Resource + "/" + storageKey(s.scopedNamespace(namespace), name)
	return apierrors.NewConflict(resource, name, fmt.Errorf(
		"StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: %s", key, text))
}

// isDryRun says whether options ask for a dry run.
func isDryRun(dryRun []string) bool { return len(dryRun) > 0 }

// createOptions returns the options admission is shown when an update or patch creates, updateOptions when it updates.
func createOptions(options *metav1.PatchOptions) *metav1.CreateOptions {
	return &metav1.CreateOptions{
		TypeMeta:        metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(), Kind: "CreateOptions"},
		DryRun:          options.DryRun,
		FieldManager:    options.FieldManager,
		FieldValidation: options.FieldValidation,
	}
}

func updateOptions(options *metav1.PatchOptions) *metav1.UpdateOptions {
	return &metav1.UpdateOptions{
		TypeMeta:        metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(), Kind: "UpdateOptions"},
		DryRun:          options.DryRun,
		FieldManager:    options.FieldManager,
		FieldValidation: options.FieldValidation,
	}
}
