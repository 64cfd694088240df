package crdhandler

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/storage/names"

	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// maxNameAttempts is how many generated names are tried (W2).
const maxNameAttempts = 8

// errResourceVersionSet answers a new object that says it was stored already (W1).
var errResourceVersionSet = errors.New("resourceVersion should not be set on objects to be created")

// creation makes a new object: for POST, and for an apply that finds no object.
type creation struct {
	scope     *requestScope
	admission *admitter
	options   *metav1.CreateOptions
	// authorize, if set, decides whether the user may create the object: the request was authorized as another verb.
	authorize func(ctx context.Context) error

	// conditions must hold at the commit: the namespace is as it was when the object was admitted to it. decisions counts
	// how often that was decided.
	conditions []dynamicstorage.Condition
	decisions  int

	// allocation is what validate has allocated for the object.
	allocation allocation
}

// maxNamespaceDecisions bounds how often a creation is tried whose namespace changes all the time.
const maxNamespaceDecisions = 8

// admitToNamespace decides whether the object may be created in its namespace.
func (c *creation) admitToNamespace(ctx context.Context, obj runtime.Object) error {
	a := c.admission
	namespaces := a.scope.config.Namespaces
	if namespaces == nil || !a.scope.namespaced {
		return nil
	}
	fresh := c.decisions > 0 || a.dryRun // a dry run has no commit that finds out
	c.decisions++
	condition, err := namespaces.ForCreate(ctx, a.namespace, fresh, c.attributes(obj))
	c.conditions = []dynamicstorage.Condition{condition}
	return err
}

// outdated reports whether a commit has failed because the namespace may have changed. The caller tries again.
func (c *creation) outdated(err error) bool {
	return c != nil && len(c.conditions) > 0 && c.decisions < maxNamespaceDecisions && errors.Is(err, dynamicstorage.ErrCondition)
}

// admit asks mutating admission about the object.
func (c *creation) admit(ctx context.Context, obj runtime.Object) error {
	if err := c.admitToNamespace(ctx, obj); err != nil {
		return err
	}
	if err := c.admission.admit(ctx, admissionEvent{operation: admission.Create, obj: obj, options: c.options}); err != nil {
		return err
	}
	objectmeta.DedupOwners(ctx, obj, objectmeta.DuplicateOwnersAfterAdmission)
	return nil
}

// validate completes the object by its system fields, by what it shares with other objects and by the rules of the
// endpoint, and validates it. Validating admission is asked last, and then the quotas. Unless it fails, the caller ends
// c.allocation.
func (c *creation) validate(ctx context.Context, obj runtime.Object) (err error) {
	objectmeta.FillSystemFields(objectmeta.Accessor(obj))
	if c.allocation, err = c.scope.allocate(ctx, obj, nil, c.admission.dryRun); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			c.allocation.end(ctx, false)
		}
	}()
	if err := c.scope.beforeCreate(ctx, c.admission.namespace, obj); err != nil {
		return err
	}
	if c.authorize != nil {
		if err := c.authorize(ctx); err != nil {
			return err
		}
	}
	event := admissionEvent{operation: admission.Create, obj: obj, options: c.options}
	if err := c.admission.validate(ctx, event); err != nil {
		return err
	}
	return c.admission.reserve(ctx, event)
}

func (c *creation) attributes(obj runtime.Object) func() admission.Attributes {
	return func() admission.Attributes {
		return c.admission.attributes(admissionEvent{operation: admission.Create, obj: obj, options: c.options})
	}
}

// insert validates and commits an object that POST creates. Without its managed fields an object that is too large
// for etcd is of use still (W3).
func (c *creation) insert(ctx context.Context, obj runtime.Object) (result, error) {
	res, err := c.insertNamed(ctx, obj)
	if errors.Is(err, dynamicstorage.ErrTooLarge) {
		objectmeta.Accessor(obj).SetManagedFields(nil)
		res, err = c.insertNamed(ctx, obj)
	}
	return res, err
}

// insertNamed tries generated names until one is free, if the object asks for that.
func (c *creation) insertNamed(ctx context.Context, obj runtime.Object) (res result, err error) {
	m := objectmeta.Accessor(obj)
	if m.GetGenerateName() == "" || m.GetName() != "" {
		return c.insertOnce(ctx, obj)
	}
	for range maxNameAttempts {
		attempt := obj.DeepCopyObject()
		objectmeta.Accessor(attempt).SetName(names.SimpleNameGenerator.GenerateName(m.GetGenerateName()))
		if res, err = c.insertOnce(ctx, attempt); !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	return res, err
}

func (c *creation) insertOnce(ctx context.Context, obj runtime.Object) (res result, err error) {
	s := c.scope
	if err := c.validate(ctx, obj); err != nil {
		return result{}, err
	}
	defer func() { c.allocation.end(ctx, err == nil) }()
	name := objectmeta.Accessor(obj).GetName()
	key, err := stored.Key(s.namespaced, c.admission.namespace, name)
	if err != nil {
		return result{}, err
	}
	change, err := c.change(ctx, obj)
	if err != nil {
		return result{}, s.writeError(err, name)
	}
	var entry *dynamicstorage.Entry
	for {
		change.If = c.conditions
		entry, err = s.storage.Resource.Update(ctx, key, func(_ context.Context, current *dynamicstorage.Entry) (dynamicstorage.Change, error) {
			if current != nil {
				return dynamicstorage.Change{}, c.alreadyExists(obj, current)
			}
			return change, nil
		}, dynamicstorage.UpdateOptions{Absent: true, If: s.storage.Conditions})
		if !c.outdated(err) {
			break
		}
		if err := c.admitToNamespace(ctx, obj); err != nil {
			return result{}, err
		}
	}
	if err != nil {
		return result{}, s.writeError(err, name)
	}
	if c.admission.dryRun {
		obj, err = asRead(ctx, s.storage, obj)
		return result{obj: obj}, err
	}
	s.waitInEffect(ctx, name)
	return result{entry: entry}, nil
}

// change returns the change that stores the object; in a dry run, one that stores nothing. As upstream, the object is
// encoded before its key is looked up: a conversion that fails is answered before a name that is taken.
func (c *creation) change(ctx context.Context, obj runtime.Object) (dynamicstorage.Change, error) {
	if c.admission.dryRun {
		return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
	}
	if revision, err := resourceVersionOf(obj); err == nil && revision != 0 {
		return dynamicstorage.Change{}, errResourceVersionSet
	}
	return servedForm(c.scope.storage).change(ctx, proposal{obj: obj}, nil)
}

// alreadyExists is the answer to a name that is taken. It says whether the name is going to be free.
func (c *creation) alreadyExists(obj runtime.Object, current *dynamicstorage.Entry) error {
	resource, m := c.scope.resource.GroupResource(), objectmeta.Accessor(obj)
	err := apierrors.NewAlreadyExists(resource, m.GetName())
	if m.GetGenerateName() != "" {
		err = apierrors.NewGenerateNameConflict(resource, m.GetName(), 1)
	}
	if current.Header.Deleting {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}
