package write

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/storage/names"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Creation admits and validates a new object: of a POST, or of an apply or PUT that finds no object.
type Creation struct {
	Admission *Admission
	Options   *metav1.CreateOptions
	// Authorize, if set, decides whether the user may create the object: the request was authorized as another verb.
	Authorize func(ctx context.Context) error

	// conditions must hold at the commit: the namespace is as it was when the object was admitted to it. decisions
	// counts how often that was decided.
	conditions []dynamicstorage.Condition
	decisions  int

	// allocation is what Validate has allocated for the object.
	allocation resource.Allocated
}

// maxNamespaceDecisions bounds how often a creation is tried whose namespace changes all the time.
const maxNamespaceDecisions = 8

// admitToNamespace decides whether the object may be created in its namespace.
func (c *Creation) admitToNamespace(ctx context.Context, obj runtime.Object) error {
	a := c.Admission
	namespaces := a.Policy.Namespaces
	if namespaces == nil || !a.Namespaced {
		return nil
	}
	fresh := c.decisions > 0 || a.DryRun // a dry run has no commit that finds out
	c.decisions++
	attributes := func() admission.Attributes { return a.Attributes(c.event(obj)) }
	condition, err := namespaces.ForCreate(ctx, a.Namespace, fresh, attributes)
	c.conditions = []dynamicstorage.Condition{condition}
	return err
}

// outdated reports whether a commit has failed because the namespace may have changed. The caller tries again.
func (c *Creation) outdated(err error) bool {
	return c != nil && len(c.conditions) > 0 && c.decisions < maxNamespaceDecisions &&
		errors.Is(err, dynamicstorage.ErrCondition)
}

func (c *Creation) event(obj runtime.Object) Event {
	return Event{Operation: admission.Create, Obj: obj, Options: c.Options}
}

// Admit asks mutating admission about the object.
func (c *Creation) Admit(ctx context.Context, obj runtime.Object) error {
	if err := c.admitToNamespace(ctx, obj); err != nil {
		return err
	}
	if err := c.Admission.Admit(ctx, c.event(obj)); err != nil {
		return err
	}
	objectmeta.DedupOwners(ctx, obj, objectmeta.DuplicateOwnersAfterAdmission)
	return nil
}

// Validate completes the object by its system fields, by what it shares with other objects and by the rules of the
// endpoint, and validates it. Validating admission is asked last, and then the quotas. The allocation of the proposal
// ends with the attempt to commit it.
func (c *Creation) Validate(ctx context.Context, obj runtime.Object) (_ Proposal, err error) {
	a := c.Admission
	objectmeta.FillSystemFields(objectmeta.Accessor(obj))
	if c.allocation, err = a.allocate(ctx, obj, nil, a.DryRun); err != nil {
		return Proposal{}, err
	}
	defer func() {
		if err != nil {
			c.allocation.End(ctx, false)
		}
	}()
	if err := a.beforeCreate(ctx, a.Namespace, obj); err != nil {
		return Proposal{}, err
	}
	if c.Authorize != nil {
		if err := c.Authorize(ctx); err != nil {
			return Proposal{}, err
		}
	}
	if err := a.Validate(ctx, c.event(obj)); err != nil {
		return Proposal{}, err
	}
	return Proposal{Obj: obj, creation: c, allocation: &c.allocation}, a.reserve(ctx, c.event(obj))
}

// maxNameAttempts is how many generated names are tried (W2).
const maxNameAttempts = 8

// errResourceVersionSet answers a new object that says it was stored already (W1).
var errResourceVersionSet = errors.New("resourceVersion should not be set on objects to be created")

// Insert validates and commits an object that POST creates, under its name or, if it asks for that, under generated
// names until one is free. Without its managed fields an object that is too large for etcd is of use still (W3).
func (c *Creation) Insert(ctx context.Context, obj runtime.Object) (Result, error) {
	res, err := c.insertNamed(ctx, obj)
	if errors.Is(err, dynamicstorage.ErrTooLarge) {
		objectmeta.Accessor(obj).SetManagedFields(nil)
		res, err = c.insertNamed(ctx, obj)
	}
	return res, err
}

// insertNamed tries generated names until one is free, if the object asks for that.
func (c *Creation) insertNamed(ctx context.Context, obj runtime.Object) (res Result, err error) {
	m := objectmeta.Accessor(obj)
	if m.GetGenerateName() == "" || m.GetName() != "" {
		return c.insert(ctx, obj)
	}
	for range maxNameAttempts {
		attempt := obj.DeepCopyObject()
		objectmeta.Accessor(attempt).SetName(names.SimpleNameGenerator.GenerateName(m.GetGenerateName()))
		if res, err = c.insert(ctx, attempt); !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	return res, err
}

// insert validates and commits the object.
func (c *Creation) insert(ctx context.Context, obj runtime.Object) (res Result, err error) {
	a := c.Admission
	p, err := c.Validate(ctx, obj)
	if err != nil {
		return Result{}, err
	}
	defer func() { p.allocation.End(ctx, err == nil) }()
	name := objectmeta.Accessor(obj).GetName()
	key, err := a.Key(a.Namespace, name)
	if err != nil {
		return Result{}, err
	}
	change, err := c.change(ctx, p)
	if err != nil {
		return Result{}, a.APIError(err, name)
	}
	entry, err := c.commit(ctx, key, obj, change)
	if err != nil {
		return Result{}, err
	}
	if a.DryRun {
		obj, err = asRead(ctx, a.Objects, obj)
		return Result{Answer: stored.Answer{Obj: obj}, Created: true}, err
	}
	a.WaitInEffect(ctx, name)
	return Result{Answer: stored.Answer{Entry: entry}, Created: true}, nil
}

// change returns the change that stores the object; in a dry run, one that stores nothing. As upstream, the object is
// encoded before its key is looked up: a conversion that fails is answered before a name that is taken.
func (c *Creation) change(ctx context.Context, p Proposal) (dynamicstorage.Change, error) {
	if c.Admission.DryRun {
		return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
	}
	if revision, err := resourceVersionOf(p.Obj); err == nil && revision != 0 {
		return dynamicstorage.Change{}, errResourceVersionSet
	}
	return servedForm(c.Admission.Objects).change(ctx, p, nil)
}

// commit carries out the change if the key is free. It decides again about the namespace if that has changed.
func (c *Creation) commit(
	ctx context.Context, key string, obj runtime.Object, change dynamicstorage.Change,
) (*dynamicstorage.Entry, error) {
	objects := c.Admission.Objects
	insert := func(_ context.Context, current *dynamicstorage.Entry) (dynamicstorage.Change, error) {
		if current != nil {
			return dynamicstorage.Change{}, c.alreadyExists(obj, current)
		}
		return change, nil
	}
	held := c.allocation.Conditions()
	for {
		change.If = slices.Concat(held, c.conditions)
		entry, err := objects.Resource.Update(ctx, key, insert,
			dynamicstorage.UpdateOptions{Absent: true, If: objects.Conditions})
		if !c.outdated(err) {
			return entry, c.Admission.APIError(err, objectmeta.Accessor(obj).GetName())
		}
		if err := c.admitToNamespace(ctx, obj); err != nil {
			return nil, err
		}
	}
}

// alreadyExists is the answer to a name that is taken. It says whether the name is going to be free.
func (c *Creation) alreadyExists(obj runtime.Object, current *dynamicstorage.Entry) error {
	resource, m := c.Admission.Resource.GroupResource(), objectmeta.Accessor(obj)
	err := apierrors.NewAlreadyExists(resource, m.GetName())
	if m.GetGenerateName() != "" {
		err = apierrors.NewGenerateNameConflict(resource, m.GetName(), 1)
	}
	if current.Header.Deleting {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}
