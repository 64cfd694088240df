package crdhandler

import (
	"context"
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// update answers PUT.
func (s *requestScope) update(w http.ResponseWriter, req *http.Request) {
	s.serveWrite(w, req, func(ctx context.Context) (writeAnswer, error) { return s.updated(ctx, req) })
}

func (s *requestScope) updated(ctx context.Context, req *http.Request) (writeAnswer, error) {
	namespace, name, media, err := s.addressed(req)
	if err != nil {
		return writeAnswer{}, err
	}
	body, err := s.readBody(req)
	if err != nil {
		return writeAnswer{}, err
	}
	options := &metav1.UpdateOptions{}
	if err := readOptions(req, options, "UpdateOptions", validation.ValidateUpdateOptions); err != nil {
		return writeAnswer{}, err
	}
	serializer, err := s.negotiateBody(req)
	if err != nil {
		return writeAnswer{}, err
	}
	p := &put{
		scope:    s,
		payload:  payload{data: body, serializer: serializer, validation: fieldValidationOf(options.FieldValidation)},
		options:  options,
		manager:  managerName(options.FieldManager, req.UserAgent()),
		admitter: s.admitter(ctx, target{namespace: namespace, name: name, dryRun: isDryRun(options.DryRun)}),
	}
	res, err := p.run(ctx)
	if err != nil {
		return writeAnswer{}, finished(ctx, err)
	}
	return writeAnswer{code: http.StatusOK, media: media, result: res}, nil
}

// put replaces one object by another.
type put struct {
	scope    *requestScope
	payload  payload
	options  *metav1.UpdateOptions
	manager  string
	admitter *admitter

	// obj is the object sent, until an attempt has taken it; uid is that of the object it is to replace.
	obj runtime.Object
	uid types.UID
	// bare leaves the managed fields away: the object was too large with them (W3).
	bare bool
}

func (p *put) run(ctx context.Context) (result, error) {
	obj, err := p.decode(ctx)
	if err != nil {
		return result{}, err
	}
	p.obj, p.uid = obj, accessor(obj).GetUID()
	res, err := p.replacement().run(ctx)
	if errors.Is(err, dynamicstorage.ErrTooLarge) {
		p.bare = true
		res, err = p.replacement().run(ctx)
	}
	return res, err
}

// decode returns the object sent, which must be the one that the URL names.
func (p *put) decode(ctx context.Context) (runtime.Object, error) {
	obj, err := p.scope.decodeObject(ctx, p.payload)
	if err != nil {
		return nil, err
	}
	namespace, name := p.admitter.namespace, p.admitter.name
	if err := matchNamespace(namespace, accessor(obj)); err != nil {
		return nil, err
	}
	if err := matchName(obj, namespace, name); err != nil {
		return nil, err
	}
	dedupOwners(ctx, obj, duplicateOwners)
	return obj, nil
}

// take returns the object sent for an attempt, which may change it. Attempts after the first are rare: they decode it
// again, and nobody needs a copy.
func (p *put) take(ctx context.Context) (runtime.Object, error) {
	obj := p.obj
	if p.obj = nil; obj != nil {
		return obj, nil
	}
	return p.decode(ctx)
}

func (p *put) replacement() *replacement {
	return &replacement{
		scope:     p.scope,
		namespace: p.admitter.namespace,
		name:      p.admitter.name,
		dryRun:    p.admitter.dryRun,
		uid:       p.uid,
		next:      p.next,
		validateUpdate: func(ctx context.Context, obj, old runtime.Object) error {
			return p.admitter.validateUpdate(ctx, obj, old, p.options)
		},
	}
}

// next returns the object sent, as one attempt may store it.
func (p *put) next(ctx context.Context, live runtime.Object) (runtime.Object, error) {
	obj, err := p.take(ctx)
	if err != nil {
		return nil, err
	}
	if p.bare {
		accessor(obj).SetManagedFields(nil)
	} else {
		fields, err := p.scope.fieldManager()
		if err != nil {
			return nil, err
		}
		if obj, err = fields.Update(ctx, live, obj, p.manager); err != nil {
			return nil, err
		}
	}
	if err := p.admitter.admit(ctx, admissionEvent{operation: admission.Update, obj: obj, old: live, options: p.options}); err != nil {
		return nil, err
	}
	dedupOwners(ctx, obj, duplicateOwnersAfterAdmission)
	return obj, nil
}
