package crdhandler

import (
	"context"
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// update answers PUT.
func (s *requestScope) update(w http.ResponseWriter, req *http.Request) {
	s.serveWrite(w, req, func(ctx context.Context) (writeAnswer, error) { return s.updated(ctx, req) })
}

func (s *requestScope) updated(ctx context.Context, req *http.Request) (writeAnswer, error) {
	namespace, name := s.target(req)
	if name == "" {
		return writeAnswer{}, errNoName
	}
	media, err := s.negotiate(req)
	if err != nil {
		return writeAnswer{}, err
	}
	body, err := s.readBody(req)
	if err != nil {
		return writeAnswer{}, err
	}
	options := &metav1.UpdateOptions{}
	if err := queryOptions(req, options); err != nil {
		return writeAnswer{}, err
	}
	if err := finishOptions(options, "UpdateOptions", validation.ValidateUpdateOptions(options)); err != nil {
		return writeAnswer{}, err
	}
	serializer, err := negotiation.NegotiateInputSerializer(req, false, s.serializer)
	if err != nil {
		return writeAnswer{}, err
	}
	obj, err := s.decodeObject(ctx, payload{data: body, serializer: serializer, validation: fieldValidationOf(options.FieldValidation)})
	if err != nil {
		return writeAnswer{}, err
	}
	if err := matchNamespace(namespace, accessor(obj)); err != nil {
		return writeAnswer{}, err
	}
	if err := matchName(obj, namespace, name); err != nil {
		return writeAnswer{}, err
	}
	dedupOwners(ctx, obj, duplicateOwners)
	p := &put{
		scope:    s,
		obj:      obj,
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
	obj      runtime.Object
	options  *metav1.UpdateOptions
	manager  string
	admitter *admitter
	// bare leaves the managed fields away: the object was too large with them (W3).
	bare bool
}

func (p *put) run(ctx context.Context) (result, error) {
	res, err := p.replacement().run(ctx)
	if errors.Is(err, dynamicstorage.ErrTooLarge) {
		p.bare = true
		accessor(p.obj).SetManagedFields(nil)
		res, err = p.replacement().run(ctx)
	}
	return res, err
}

func (p *put) replacement() *replacement {
	return &replacement{
		scope:     p.scope,
		namespace: p.admitter.namespace,
		name:      p.admitter.name,
		dryRun:    p.admitter.dryRun,
		uid:       accessor(p.obj).GetUID(),
		next:      p.next,
		validateUpdate: func(ctx context.Context, obj, old runtime.Object) error {
			return p.admitter.validateUpdate(ctx, obj, old, p.options)
		},
	}
}

// next returns the object sent, as one attempt may store it.
func (p *put) next(ctx context.Context, live runtime.Object) (runtime.Object, error) {
	obj := p.obj.DeepCopyObject()
	if !p.bare {
		fields, err := p.scope.fieldManager()
		if err != nil {
			return nil, err
		}
		obj = fields.UpdateNoErrors(live, obj, p.manager)
	}
	if err := p.admitter.admit(ctx, admissionEvent{operation: admission.Update, obj: obj, old: live, options: p.options}); err != nil {
		return nil, err
	}
	dedupOwners(ctx, obj, duplicateOwnersAfterAdmission)
	return obj, nil
}
