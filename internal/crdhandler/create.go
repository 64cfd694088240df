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

// create answers POST. terminating: the CustomResourceDefinition is being deleted, and nothing is created (R4).
func (s *requestScope) create(w http.ResponseWriter, req *http.Request, terminating bool) {
	ctx, cancel := s.writeContext(req)
	defer cancel()
	c, err := s.decodeCreate(ctx, req, terminating)
	if err != nil {
		s.err(err, w, req)
		return
	}
	res, err := c.run(ctx)
	if err != nil {
		s.writeFailed(ctx, err, w, req)
		return
	}
	c.respond(w, http.StatusCreated, res.Answer)
}

// run builds and admits the object, validates it under its name, and commits it.
func (c *createRequest) run(ctx context.Context) (write.Result, error) {
	obj, err := c.build(ctx)
	if err != nil {
		return write.Result{}, err
	}
	if err := c.Admit(ctx, obj); err != nil {
		return write.Result{}, err
	}
	return c.Insert(ctx, obj)
}

// createRequest is a decoded POST.
type createRequest struct {
	write.Creation
	responder
	obj     runtime.Object
	manager string
}

func (s *requestScope) decodeCreate(ctx context.Context, req *http.Request, terminating bool) (*createRequest, error) {
	namespace, name := s.target(req)
	answer, err := s.negotiate(req)
	if err != nil {
		return nil, err
	}
	serializer, err := negotiateBody(req, s.serializer)
	if err != nil {
		return nil, err
	}
	body, err := s.readBody(req)
	if err != nil {
		return nil, err
	}
	options := &metav1.CreateOptions{}
	if err := readOptions(req, options, "CreateOptions", validation.ValidateCreateOptions); err != nil {
		return nil, err
	}
	obj, err := payload{s, body, serializer, fieldValidationOf(options.FieldValidation)}.decode(ctx)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = objectmeta.Accessor(obj).GetName()
	}
	if s.action == nil || !s.action.KeepsSystemFields {
		objectmeta.WipeSystemFields(objectmeta.Accessor(obj))
	}
	if err := objectmeta.MatchNamespace(namespace, objectmeta.Accessor(obj)); err != nil {
		return nil, err
	}
	objectmeta.DedupOwners(ctx, obj, objectmeta.DuplicateOwners)
	target := write.Target{Namespace: namespace, Name: name, DryRun: isDryRun(options.DryRun), Terminating: terminating}
	return &createRequest{
		Creation:  write.Creation{Admission: s.Admission(ctx, target), Options: options},
		responder: answer,
		obj:       obj,
		manager:   managedfields.ManagerName(options.FieldManager, req.UserAgent()),
	}, nil
}

// build returns the object that was sent, with its managed fields.
func (c *createRequest) build(ctx context.Context) (runtime.Object, error) {
	fields, err := c.scope.fieldManager()
	if err != nil {
		return nil, err
	}
	empty, err := c.scope.Interfaces.Creater.New(c.scope.Kind)
	if err != nil {
		return nil, err
	}
	return fields.Update(ctx, empty, c.obj, c.manager)
}
