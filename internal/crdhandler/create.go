package crdhandler

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/storage/names"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// maxNameAttempts is how many generated names are tried (W2).
const maxNameAttempts = 8

var (
	// errResourceVersionSet answers an object to be created that says it was stored already (W1).
	errResourceVersionSet = errors.New("resourceVersion should not be set on objects to be created")
	// errExists says that the key of a new object is taken.
	errExists = errors.New("object exists")
)

// create answers POST. While the CustomResourceDefinition is terminating nothing is created (R4).
func (s *requestScope) create(w http.ResponseWriter, req *http.Request, terminating bool) {
	s.serveWrite(w, req, func(ctx context.Context) (writeAnswer, error) { return s.created(ctx, req, terminating) })
}

func (s *requestScope) created(ctx context.Context, req *http.Request, terminating bool) (writeAnswer, error) {
	namespace, name := s.target(req)
	media, err := s.negotiate(req)
	if err != nil {
		return writeAnswer{}, err
	}
	serializer, err := s.negotiateBody(req)
	if err != nil {
		return writeAnswer{}, err
	}
	body, err := s.readBody(req)
	if err != nil {
		return writeAnswer{}, err
	}
	options := &metav1.CreateOptions{}
	if err := readOptions(req, options, "CreateOptions", validation.ValidateCreateOptions); err != nil {
		return writeAnswer{}, err
	}
	obj, err := s.decodeObject(ctx, payload{data: body, serializer: serializer, validation: fieldValidationOf(options.FieldValidation)})
	if err != nil {
		return writeAnswer{}, err
	}
	if name == "" {
		name = accessor(obj).GetName()
	}
	wipeSystemFields(accessor(obj))
	if err := matchNamespace(namespace, accessor(obj)); err != nil {
		return writeAnswer{}, err
	}
	dryRun := isDryRun(options.DryRun)
	c := &creation{
		scope:     s,
		namespace: namespace,
		options:   options,
		dryRun:    dryRun,
		manager:   managerName(options.FieldManager, req.UserAgent()),
		admitter:  s.admitter(ctx, target{namespace: namespace, name: name, dryRun: dryRun, terminating: terminating}),
	}
	res, err := c.run(ctx, obj)
	if err != nil {
		return writeAnswer{}, finished(ctx, err)
	}
	return writeAnswer{code: http.StatusCreated, media: media, result: res}, nil
}

// creation stores one new object.
type creation struct {
	scope     *requestScope
	namespace string
	options   *metav1.CreateOptions
	dryRun    bool
	manager   string
	admitter  *admitter
}

func (c *creation) run(ctx context.Context, obj runtime.Object) (result, error) {
	dedupOwners(ctx, obj, duplicateOwners)
	fields, err := c.scope.fieldManager()
	if err != nil {
		return result{}, err
	}
	live, err := c.scope.objects.creater.New(c.scope.kind)
	if err != nil {
		return result{}, err
	}
	if obj, err = fields.Update(ctx, live, obj, c.manager); err != nil {
		return result{}, err
	}
	if err := c.admitter.admit(ctx, admissionEvent{operation: admission.Create, obj: obj, options: c.options}); err != nil {
		return result{}, err
	}
	dedupOwners(ctx, obj, duplicateOwnersAfterAdmission)
	res, err := c.insert(ctx, obj)
	if errors.Is(err, dynamicstorage.ErrTooLarge) {
		// The managed fields can be most of it, and the object is of use without them (W3).
		accessor(obj).SetManagedFields(nil)
		res, err = c.insert(ctx, obj)
	}
	return res, err
}

// insert stores obj, under generated names until one is free if it asks for that.
func (c *creation) insert(ctx context.Context, obj runtime.Object) (res result, err error) {
	m := accessor(obj)
	if m.GetGenerateName() == "" || m.GetName() != "" {
		return c.insertOnce(ctx, obj)
	}
	for range maxNameAttempts {
		attempt := obj.DeepCopyObject()
		accessor(attempt).SetName(names.SimpleNameGenerator.GenerateName(m.GetGenerateName()))
		if res, err = c.insertOnce(ctx, attempt); !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	return res, err
}

func (c *creation) insertOnce(ctx context.Context, obj runtime.Object) (result, error) {
	s, m := c.scope, accessor(obj)
	fillSystemFields(m)
	if err := s.beforeCreate(ctx, c.namespace, obj); err != nil {
		return result{}, err
	}
	if err := c.admitter.validate(ctx, admissionEvent{operation: admission.Create, obj: obj, options: c.options}); err != nil {
		return result{}, err
	}
	key, err := s.objectKey(c.namespace, m.GetName())
	if err != nil {
		return result{}, err
	}
	entry, terminating, err := s.storage.create(ctx, key, obj, c.dryRun)
	switch {
	case errors.Is(err, errExists):
		return result{}, s.alreadyExists(m, terminating)
	case err != nil:
		return result{}, s.writeError(err, m.GetName())
	}
	s.settled(ctx, m.GetName(), c.dryRun)
	if c.dryRun {
		obj, err = s.storage.codec.asStored(ctx, obj)
		return result{obj: obj}, err
	}
	return result{entry: entry}, nil
}

// alreadyExists says that the name of a new object is taken, and whether it is going to be free.
func (s *requestScope) alreadyExists(m metav1.Object, terminating bool) error {
	err := apierrors.NewAlreadyExists(s.resource.GroupResource(), m.GetName())
	if m.GetGenerateName() != "" {
		err = apierrors.NewGenerateNameConflict(s.resource.GroupResource(), m.GetName(), 1)
	}
	if terminating {
		err.ErrStatus.Message = "object is being deleted: " + err.ErrStatus.Message
	}
	return err
}

// create stores a new object. With errExists it says whether the object that has the key already is being deleted;
// that one is not decoded. As upstream, it encodes first: a conversion that fails is told before a taken name.
func (s *storage) create(ctx context.Context, key string, obj runtime.Object, dryRun bool) (_ *dynamicstorage.Entry, terminating bool, err error) {
	var change dynamicstorage.Change
	if !dryRun {
		if revision, err := resourceVersionOf(obj); err == nil && revision != 0 {
			return nil, false, errResourceVersionSet
		}
		if change, err = s.stored(ctx, nil, outcome{obj: obj}, s.codec.encode); err != nil {
			return nil, false, err
		}
	}
	entry, err := s.resource.Update(ctx, key, func(ctx context.Context, cur *dynamicstorage.Entry) (dynamicstorage.Change, error) {
		if cur != nil {
			terminating = cur.Header.Deleting
			return dynamicstorage.Change{}, errExists
		}
		if dryRun {
			return dynamicstorage.Change{}, errDryRun
		}
		return change, nil
	}, dynamicstorage.UpdateOptions{Absent: true, If: s.while})
	if errors.Is(err, errDryRun) {
		err = nil
	}
	return entry, terminating, err
}

// managerName is the field manager of a write: what the client says, or else its user agent up to the first slash,
// without what cannot be printed (W8).
func managerName(manager, userAgent string) string {
	if manager != "" {
		return manager
	}
	product, _, _ := strings.Cut(userAgent, "/")
	var name strings.Builder
	for _, r := range product {
		if !unicode.IsPrint(r) {
			continue
		}
		if name.Len()+utf8.RuneLen(r) > validation.FieldManagerMaxLength {
			break
		}
		name.WriteRune(r)
	}
	return name.String()
}
