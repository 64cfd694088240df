package crdhandler

import (
	"context"
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
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
	res, err := u.run(ctx)
	if err != nil {
		s.writeFailed(ctx, err, w, req)
		return
	}
	code := http.StatusOK
	if res.created {
		code = http.StatusCreated
	}
	s.respond(w, req, code, u.media, res.result)
}

// updateRequest is a PUT: it replaces an object by the one that was sent.
type updateRequest struct {
	scope     *requestScope
	admission *admitter
	options   *metav1.UpdateOptions
	payload   payload
	manager   string
	media     negotiation.MediaTypeOptions
	// authorize decides whether the user may create the object, if the update creates it.
	authorize func(ctx context.Context) error

	// sent is the object that was sent, until an attempt has taken it. uid is its UID.
	sent runtime.Object
	uid  types.UID
}

func (s *requestScope) decodeUpdate(ctx context.Context, req *http.Request) (*updateRequest, error) {
	namespace, name, media, err := s.addressed(req)
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
	serializer, err := s.negotiateBody(req)
	if err != nil {
		return nil, err
	}
	u := &updateRequest{
		scope:     s,
		admission: s.admitter(ctx, admissionTarget{namespace: namespace, name: name, dryRun: isDryRun(options.DryRun)}),
		options:   options,
		payload:   payload{data: body, serializer: serializer, validation: fieldValidationOf(options.FieldValidation)},
		manager:   managedfields.ManagerName(options.FieldManager, req.UserAgent()),
		media:     media,
	}
	u.authorize = u.admission.authorizeCreate(req.URL.Path)
	if u.sent, err = u.decode(ctx); err != nil {
		return nil, finished(ctx, err)
	}
	u.uid = objectmeta.Accessor(u.sent).GetUID()
	return u, nil
}

// decode returns the object that was sent. It must be the one that the URL names.
func (u *updateRequest) decode(ctx context.Context) (runtime.Object, error) {
	obj, err := u.scope.decodeObject(ctx, u.payload)
	if err != nil {
		return nil, err
	}
	namespace := u.scope.scopedNamespace(u.admission.namespace)
	if err := objectmeta.MatchNamespace(namespace, objectmeta.Accessor(obj)); err != nil {
		return nil, err
	}
	if err := objectmeta.MatchName(obj, namespace, u.admission.name); err != nil {
		return nil, err
	}
	objectmeta.DedupOwners(ctx, obj, objectmeta.DuplicateOwners)
	return obj, nil
}

// run replaces the object.
func (u *updateRequest) run(ctx context.Context) (updateResult, error) {
	change := &replacement{scope: u.scope, admission: u.admission, builder: u, options: u.options, uid: u.uid}
	if u.scope.subresource == "" && u.scope.strategy.AllowCreateOnUpdate(ctx) {
		options := &metav1.CreateOptions{DryRun: u.options.DryRun, FieldManager: u.options.FieldManager}
		change.creation = &creation{scope: u.scope, admission: u.admission, options: options, authorize: u.authorize}
	}
	res, err := change.run(ctx, nil)
	if errors.Is(err, dynamicstorage.ErrTooLarge) {
		change.dropManagedFields = true
		res, err = change.run(ctx, nil)
	}
	return res, err
}

// build implements objectBuilder. An attempt may change the object that was sent. Attempts after the first are rare:
// they decode it again, which is cheaper than a copy for each update.
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
		if live, err = u.scope.objects.creater.New(u.scope.kind); err != nil {
			return nil, err
		}
	}
	return fields.Update(ctx, live, obj, u.manager)
}
