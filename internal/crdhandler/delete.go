package crdhandler

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// delete answers DELETE of one object.
func (s *requestScope) delete(w http.ResponseWriter, req *http.Request) {
	s.serveWrite(w, req, func(ctx context.Context) (writeAnswer, error) { return s.deleted(ctx, req) })
}

func (s *requestScope) deleted(ctx context.Context, req *http.Request) (writeAnswer, error) {
	namespace, name, media, err := s.addressed(req)
	if err != nil {
		return writeAnswer{}, err
	}
	options, err := s.decodeDeleteOptions(ctx, req)
	if err != nil {
		return writeAnswer{}, err
	}
	admitter := s.admitter(ctx, target{namespace: namespace, name: name, dryRun: isDryRun(options.DryRun)})
	if ignoresReadErrors(options) {
		res, err := s.deleteCorrupt(ctx, admitter, options)
		return writeAnswer{code: http.StatusOK, media: media, result: res}, finished(ctx, err)
	}
	key, err := s.objectKey(namespace, name)
	if err != nil {
		return writeAnswer{}, err
	}
	res, gone, err := s.deleteObject(ctx, key, deleteOptions{
		DeleteOptions: options, admit: admitter.admitDelete, unconverted: s.deletesUnconverted(req, media)})
	if err != nil {
		return writeAnswer{}, finished(ctx, err)
	}
	code := http.StatusOK
	//lint:ignore SA1019 old clients set it
	if orphan := options.OrphanDependents; !gone && orphan != nil && !*orphan {
		code = http.StatusAccepted
	}
	return writeAnswer{code: code, media: media, result: s.deletedAs(ctx, res, media)}, nil
}

// deleteOptions say how to delete an object.
type deleteOptions struct {
	*metav1.DeleteOptions // nil: the defaults
	// admit, if set, may refuse the deletion of an object.
	admit func(ctx context.Context, old, options runtime.Object) error
	// unconverted: an object that cannot be converted is deleted all the same.
	unconverted bool
}

// deleteObject deletes the object at a key, or marks it as being deleted while there are finalizers. The result is a
// Status when it is gone, else the object.
func (s *requestScope) deleteObject(ctx context.Context, key string, options deleteOptions) (res result, gone bool, err error) {
	if options.DeleteOptions == nil {
		options.DeleteOptions = &metav1.DeleteOptions{}
	}
	d := &deletion{scope: s, key: key, options: options, dryRun: isDryRun(options.DryRun)}
	entry, obj, err := s.storage.apply(ctx, update{key: key, orStored: options.unconverted && !d.dryRun, change: d.change})
	if err != nil {
		return result{}, false, s.writeError(err, d.name())
	}
	s.settled(ctx, d.name(), d.dryRun)
	if d.gone {
		return result{obj: d.status()}, true, nil
	}
	return result{entry: entry, obj: obj}, false, nil
}

// deleteInstance deletes an object of a CustomResourceDefinition that is being deleted itself, without asking admission.
// left says that the object waits for its finalizers.
func (s *requestScope) deleteInstance(ctx context.Context, key string) (left bool, err error) {
	_, gone, err := s.deleteObject(ctx, key, deleteOptions{unconverted: true})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil && !gone, err
}

// deletion is one object on its way out.
type deletion struct {
	scope   *requestScope
	key     string
	options deleteOptions
	dryRun  bool

	// gone and uid are what the last attempt made of which object.
	gone bool
	uid  types.UID
}

func (d *deletion) name() string { return nameOfKey(d.key) }

// status tells the client which object is gone, so that it can see that no finalizer is waited for.
func (d *deletion) status() *metav1.Status {
	resource := d.scope.resource
	return &metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{
		Name:  d.name(),
		Group: resource.Group,
		Kind:  resource.Resource, // the resource, indeed
		UID:   d.uid,
	}}
}

// change is one attempt.
func (d *deletion) change(ctx context.Context, existing runtime.Object) (outcome, error) {
	s := d.scope
	if existing == nil {
		return outcome{}, apierrors.NewNotFound(s.resource.GroupResource(), d.name())
	}
	m := accessor(existing)
	d.gone, d.uid = false, m.GetUID()
	if err := d.checkPreconditions(m); err != nil {
		return outcome{}, err
	}
	if d.options.admit != nil {
		if err := d.options.admit(ctx, existing, d.options.DeleteOptions); err != nil {
			return outcome{}, err
		}
	}
	if s.finalize != nil && s.finalize(existing) {
		return outcome{obj: existing, dryRun: d.dryRun}, nil
	}
	if s.config.GarbageCollection {
		m.SetFinalizers(collectorFinalizers(m.GetFinalizers(), d.options.DeleteOptions))
	}
	if len(m.GetFinalizers()) > 0 {
		markDeleting(m, metav1.Now())
		return outcome{obj: existing, dryRun: d.dryRun}, nil
	}
	d.gone = true
	return outcome{remove: !d.dryRun, dryRun: d.dryRun}, nil
}

// checkPreconditions holds the deletion to the object it was meant for.
func (d *deletion) checkPreconditions(m metav1.Object) error {
	preconditions := d.options.Preconditions
	if preconditions == nil {
		return nil
	}
	// Where deletion has a step of its own before the generic ones, its words are others (C4).
	resource := schema.GroupResource{Group: d.scope.resource.Group, Resource: d.scope.kind.Kind}
	format := "the %[1]s in the precondition (%[2]s) does not match the %[1]s in record (%[3]s). The object might have been %[4]s"
	if d.scope.finalize != nil {
		resource = d.scope.resource.GroupResource()
		format = "precondition failed: %[1]s in precondition: %[2]s, %[1]s in object meta: %[3]s"
	}
	if uid := preconditions.UID; uid != nil && *uid != m.GetUID() {
		return apierrors.NewConflict(resource, d.name(), fmt.Errorf(format, "UID", *uid, m.GetUID(), "deleted and then recreated"))
	}
	if version := preconditions.ResourceVersion; version != nil && *version != m.GetResourceVersion() {
		return apierrors.NewConflict(resource, d.name(), fmt.Errorf(format, "ResourceVersion", *version, m.GetResourceVersion(), "modified"))
	}
	return nil
}

// markDeleting gives an object with finalizers the marks of one that is being deleted. The first time is a change
// of its generation, too (W13).
func markDeleting(m metav1.Object, now metav1.Time) {
	deleted := m.GetDeletionTimestamp()
	if deleted == nil && m.GetGeneration() > 0 {
		m.SetGeneration(m.GetGeneration() + 1)
	}
	if deleted == nil || deleted.After(now.Time) {
		m.SetDeletionTimestamp(&now)
	}
	m.SetDeletionGracePeriodSeconds(new(int64))
}

// collectorFinalizers returns the finalizers of an object with those of the garbage collector as the client wants
// them (W16). What it does not say stays as it is.
func collectorFinalizers(finalizers []string, options *metav1.DeleteOptions) []string {
	wanted := collectorFinalizer(finalizers, options)
	var kept []string
	found := false
	for _, f := range finalizers {
		if f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents {
			if f != wanted {
				continue
			}
			found = true
		}
		kept = append(kept, f)
	}
	if wanted != "" && !found {
		kept = append(kept, wanted)
	}
	return kept
}

// collectorFinalizer returns the one finalizer of the garbage collector an object is to have, if any.
func collectorFinalizer(finalizers []string, options *metav1.DeleteOptions) string {
	//lint:ignore SA1019 old clients set it
	if orphan := options.OrphanDependents; orphan != nil {
		if *orphan {
			return metav1.FinalizerOrphanDependents
		}
		return ""
	}
	if policy := options.PropagationPolicy; policy != nil {
		switch *policy {
		case metav1.DeletePropagationOrphan:
			return metav1.FinalizerOrphanDependents
		case metav1.DeletePropagationForeground:
			return metav1.FinalizerDeleteDependents
		case metav1.DeletePropagationBackground:
			return ""
		}
	}
	for _, f := range finalizers {
		if f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents {
			return f
		}
	}
	return ""
}
