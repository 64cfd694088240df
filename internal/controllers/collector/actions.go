package collector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/crd-server/crd-server/internal/crds"
)

// attempts bounds how often a request is repeated at once because the object has changed. Then it is retried later.
const attempts = 5

// process decides about an object that is due, and acts.
func (r *run) process(ctx context.Context, key string) error {
	d := r.decide(key)
	switch d.action {
	case orphanDependents:
		if err := r.orphan(ctx, &d); err != nil {
			return err
		}
		return r.finalize(ctx, &d, metav1.FinalizerOrphanDependents)
	case finishForeground:
		return r.finalize(ctx, &d, metav1.FinalizerDeleteDependents)
	case release:
		return r.changeOwners(ctx, &d, func(refs []metav1.OwnerReference) []metav1.OwnerReference {
			return slices.DeleteFunc(refs, func(ref metav1.OwnerReference) bool { return slices.Contains(d.owners, ref.UID) })
		})
	case unblock:
		return r.changeOwners(ctx, &d, func(refs []metav1.OwnerReference) []metav1.OwnerReference {
			for n := range refs {
				refs[n].BlockOwnerDeletion = new(bool)
			}
			return refs
		})
	case collect:
		return r.collect(ctx, &d)
	default:
		return nil
	}
}

// decide returns what to do with the object of a key. Objects whose resource is not served are put aside.
func (r *run) decide(key string) decision {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.index.objects[key]
	if !r.scanned || o == nil {
		return decision{}
	}
	d := r.index.decide(o)
	if d.action == leave {
		return d
	}
	if _, served := r.config.Kinds.AtFolder(r.config.Kinds.FolderOf(key)); !served {
		r.stranded[key] = struct{}{}
		return decision{}
	}
	return d
}

// collect deletes an object. It repeats the request if the object has changed, but not its owners.
func (r *run) collect(ctx context.Context, d *decision) error {
	target, name, err := r.target(d.key)
	if err != nil {
		return err
	}
	revision := d.revision
	for range attempts {
		version := strconv.FormatInt(revision, 10)
		err := target.Delete(ctx, name, metav1.DeleteOptions{
			Preconditions:     &metav1.Preconditions{UID: &d.uid, ResourceVersion: &version},
			PropagationPolicy: &d.policy,
		})
		if err == nil {
			return nil
		}
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting %s: %w", d.key, err)
		}
		var m *crds.Metadata
		if revision, m, err = r.read(ctx, d.key); err != nil {
			return err
		}
		if m == nil || m.UID != d.uid || m.Deleting || !r.hasOwners(d, m) {
			return nil // the event of that decides
		}
	}
	return errRetry
}

// hasOwners reports whether an object still has the owners that a decision was based on.
func (r *run) hasOwners(d *decision, m *crds.Metadata) bool {
	place, _ := r.config.Kinds.locate(d.key)
	return (&object{links: d.links}).refersTo(place.namespace, m.OwnerReferences)
}

// changeOwners replaces the ownerReferences of the object that a decision was made about.
func (r *run) changeOwners(
	ctx context.Context, d *decision, change func([]metav1.OwnerReference) []metav1.OwnerReference,
) error {
	revision, m, err := r.read(ctx, d.key)
	if err != nil || m == nil || m.UID != d.uid {
		return err
	}
	if revision != d.revision {
		return errRetry
	}
	return r.patch(ctx, d.key, patch{m.UID, revision, "ownerReferences", change(m.OwnerReferences)})
}

// orphan removes the references to an object from its dependents.
func (r *run) orphan(ctx context.Context, d *decision) error {
	slices.Sort(d.dependents)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for _, dependent := range slices.Compact(d.dependents) {
		group.Go(func() error { return r.orphanOne(ctx, dependent, d.uid) })
	}
	return group.Wait()
}

func (r *run) orphanOne(ctx context.Context, key string, owner types.UID) error {
	for range attempts {
		revision, m, err := r.read(ctx, key)
		if err != nil || m == nil {
			return err
		}
		refs := slices.DeleteFunc(slices.Clone(m.OwnerReferences),
			func(ref metav1.OwnerReference) bool { return ref.UID == owner })
		if len(refs) == len(m.OwnerReferences) {
			return nil
		}
		err = r.patch(ctx, key, patch{m.UID, revision, "ownerReferences", refs})
		if !errors.Is(err, errRetry) {
			return err
		}
	}
	return errRetry
}

// finalize removes a finalizer from an object.
func (r *run) finalize(ctx context.Context, d *decision, finalizer string) error {
	revision, m, err := r.read(ctx, d.key)
	if err != nil || m == nil || m.UID != d.uid || !slices.Contains(m.Finalizers, finalizer) {
		return err
	}
	kept := slices.DeleteFunc(m.Finalizers, func(f string) bool { return f == finalizer })
	return r.patch(ctx, d.key, patch{m.UID, revision, "finalizers", kept})
}

// patch replaces a list in the metadata of the object with this UID and revision.
type patch struct {
	uid      types.UID
	revision int64
	field    string
	value    any
}

// patch returns errRetry if the object is another, or has changed.
func (r *run) patch(ctx context.Context, key string, p patch) error {
	target, name, err := r.target(key)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": p.uid, "resourceVersion": strconv.FormatInt(p.revision, 10), p.field: p.value,
	}})
	if err != nil {
		return err
	}
	_, err = target.Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return errRetry
	}
	return fmt.Errorf("changing the %s of %s: %w", p.field, key, err)
}

// target returns the endpoint of an object, and its name.
func (r *run) target(key string) (metadata.ResourceInterface, string, error) {
	place, _ := r.config.Kinds.locate(key)
	served, ok := r.config.Kinds.AtFolder(place.folder)
	if !ok {
		return nil, "", errRetry
	}
	resource := r.client.Resource(served.GroupVersionResource)
	if served.Namespaced {
		return resource.Namespace(place.namespace), place.name, nil
	}
	return resource, place.name, nil
}
