package crdhandler

import (
	"context"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/crdhandler/write"
	"github.com/crd-server/crd-server/internal/managedfields"
)

// update answers PUT.
func (s *requestScope) update(w http.ResponseWriter, req *http.Request) {
	ctx, cancel := s.writeContext(req)
	defer cancel()
	u, err := s.decodeUpdate(ctx, req)
	if err != nil {
		s.err(err, w, req)
		return
	}
	res, err := s.Retry(ctx, u.key, u.propose, write.Options{DryRun: u.Admission.DryRun, Shrink: u.DropManagedFields})
	if err != nil {
		s.writeFailed(ctx, err, w, req)
		return
	}
	u.respond(w, res.Code(), res.Answer)
}

// propose builds, admits and validates the object. existing is nil if there is none.
func (u *updateRequest) propose(ctx context.Context, existing runtime.Object) (write.Proposal, error) {
	live, err := u.Live(existing)
	if err != nil {
		return write.Proposal{}, err
	}
	obj, err := u.build(ctx, live.Object)
	if err != nil {
		return write.Proposal{}, err
	}
	if err := u.Admit(ctx, obj, live); err != nil {
		return write.Proposal{}, err
	}
	return u.Validate(ctx, obj, live)
}

// updateRequest is a PUT: it replaces an object by the one that was sent.
type updateRequest struct {
	write.Replacement
	responder
	key     string
	payload payload
	manager string

	// sent is the object that was sent, until an attempt has taken it.
	sent runtime.Object
}

func (s *requestScope) decodeUpdate(ctx context.Context, req *http.Request) (*updateRequest, error) {
	namespace, name, answer, err := s.addressed(req)
	if err != nil {
		return nil, err
	}
	body, err := s.readBody(req)
	if err != nil {
		return nil, err
	}
	options := &metav1.UpdateOptions{}
	if err := readOptions(req, options, "UpdateOptions", validation.ValidateUpdateOptions); err != nil {
		return nil, err
	}
	serializer, err := negotiateBody(req, s.serializer)
	if err != nil {
		return nil, err
	}
	target := write.Target{Namespace: namespace, Name: name, DryRun: isDryRun(options.DryRun)}
	u := &updateRequest{
		Replacement: write.Replacement{Admission: s.Admission(ctx, target), Options: options},
		responder:   answer,
		payload:     payload{s, body, serializer, fieldValidationOf(options.FieldValidation)},
		manager:     managedfields.ManagerName(options.FieldManager, req.UserAgent()),
	}
	if u.sent, err = u.decode(ctx); err != nil {
		return nil, finished(ctx, err)
	}
	u.UID = objectmeta.Accessor(u.sent).GetUID()
	if s.Subresource == "" && s.Strategy.AllowCreateOnUpdate(ctx) {
		u.Creation = &write.Creation{
			Admission: u.Admission,
			Options:   &metav1.CreateOptions{DryRun: options.DryRun, FieldManager: options.FieldManager},
			Authorize: u.Admission.AuthorizeCreate(req.URL.Path),
		}
	}
	u.key, err = s.Key(u.Admission.Namespace, name)
	return u, err
}

// decode returns the object that was sent. It must be the one that the URL names.
func (u *updateRequest) decode(ctx context.Context) (runtime.Object, error) {
	obj, err := u.payload.decode(ctx)
	if err != nil {
		return nil, err
	}
	namespace := u.scope.ScopedNamespace(u.Admission.Namespace)
	if err := objectmeta.MatchNamespace(namespace, objectmeta.Accessor(obj)); err != nil {
		return nil, err
	}
	if err := objectmeta.MatchName(obj, namespace, u.Admission.Name); err != nil {
		return nil, err
	}
	objectmeta.DedupOwners(ctx, obj, objectmeta.DuplicateOwners)
	return obj, nil
}

// build returns the object that was sent, with its managed fields. An attempt may change the object that was sent.
// Attempts after the first are rare: they decode it again, which is cheaper than a copy for each update.
func (u *updateRequest) build(ctx context.Context, live runtime.Object) (runtime.Object, error) {
	obj := u.sent
	u.sent = nil
	if obj == nil {
		var err error
		if obj, err = u.decode(ctx); err != nil {
			return nil, err
		}
	}
	fields, err := u.scope.fieldManager()
	if err != nil {
		return nil, err
	}
	if live == nil {
		if live, err = u.scope.Interfaces.Creater.New(u.scope.Kind); err != nil {
			return nil, err
		}
	}
	return fields.Update(ctx, live, obj, u.manager)
}
