package crdhandler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	cbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// patch answers PATCH. While the CustomResourceDefinition is terminating an apply creates nothing (R4).
func (s *requestScope) patch(w http.ResponseWriter, req *http.Request, terminating bool) {
	patchType, err := s.patchType(req)
	if err != nil {
		s.err(err, w, req)
		return
	}
	s.serveWrite(w, req, func(ctx context.Context) (writeAnswer, error) { return s.patched(ctx, req, patchType, terminating) })
}

// patchType returns the type of a patch, which its content type says; 415 if the endpoint does not take it.
func (s *requestScope) patchType(req *http.Request) (types.PatchType, error) {
	contentType, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";")
	if !slices.Contains(s.patchTypes, contentType) {
		return "", negotiation.NewUnsupportedMediaTypeError(s.patchTypes)
	}
	return types.PatchType(contentType), nil
}

func (s *requestScope) patched(ctx context.Context, req *http.Request, patchType types.PatchType, terminating bool) (writeAnswer, error) {
	namespace, name, media, err := s.addressed(req)
	if err != nil {
		return writeAnswer{}, err
	}
	body, err := s.readBody(req)
	if err != nil {
		return writeAnswer{}, err
	}
	options := &metav1.PatchOptions{}
	err = readOptions(req, options, "PatchOptions", func(o *metav1.PatchOptions) field.ErrorList {
		return validation.ValidatePatchOptions(o, patchType)
	})
	if err != nil {
		return writeAnswer{}, err
	}
	readable, err := patchJSON(body, patchType)
	if err != nil {
		return writeAnswer{}, err
	}
	if audit.AuditContextFrom(ctx) != nil {
		audit.LogRequestPatch(ctx, readable)
	}

	p := &patcher{
		scope:      s,
		patchType:  patchType,
		body:       body,
		options:    options,
		validation: fieldValidationOf(options.FieldValidation),
		manager:    managerName(options.FieldManager, req.UserAgent()),
		admitter: s.admitter(ctx, target{
			namespace: namespace, name: name, dryRun: isDryRun(options.DryRun), terminating: terminating,
		}),
	}
	p.authorizeCreate = p.admitter.authorizeCreate(req.URL.Path)
	if p.fields, err = s.fieldManager(); err != nil {
		return writeAnswer{}, err
	}
	res, code, err := p.run(ctx)
	if err != nil {
		return writeAnswer{}, finished(ctx, err)
	}
	return writeAnswer{code: code, media: media, result: res}, nil
}

// patchJSON returns a patch as JSON, for the audit log; what is not well-formed is refused here.
func patchJSON(body []byte, patchType types.PatchType) ([]byte, error) {
	switch patchType {
	case types.ApplyYAMLPatchType:
		encoded, err := yaml.ToJSON(body)
		if err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error encoding patch: %v", err))
		}
		return encoded, nil
	case types.ApplyCBORPatchType:
		var obj any
		if err := cbor.Unmarshal(body, &obj); err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
		encoded, err := json.Marshal(obj)
		if err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error encoding patch: %v", err))
		}
		return encoded, nil
	}
	if !json.Valid(body) {
		return nil, apierrors.NewBadRequest("invalid JSON patch")
	}
	return body, nil
}

// patcher applies one patch: to the live object, again to a fresh one when that has changed meanwhile.
type patcher struct {
	scope           *requestScope
	patchType       types.PatchType
	body            []byte
	options         *metav1.PatchOptions
	validation      fieldValidation
	manager         string
	fields          fieldManager
	admitter        *admitter
	authorizeCreate func(ctx context.Context) error
	// bare leaves the managed fields away: the object was too large with them (W3).
	bare bool
}

// applies says whether the patch is an apply, which may create the object.
func (p *patcher) applies() bool {
	return p.patchType == types.ApplyYAMLPatchType || p.patchType == types.ApplyCBORPatchType
}

func (p *patcher) run(ctx context.Context) (result, int, error) {
	r := p.replacement()
	res, err := r.run(ctx)
	if errors.Is(err, dynamicstorage.ErrTooLarge) && !p.applies() {
		p.bare = true
		r = p.replacement()
		res, err = r.run(ctx)
	}
	if r.created {
		return res, http.StatusCreated, err
	}
	return res, http.StatusOK, err
}

func (p *patcher) replacement() *replacement {
	r := &replacement{
		scope:     p.scope,
		namespace: p.admitter.namespace,
		name:      p.admitter.name,
		dryRun:    p.admitter.dryRun,
		mayCreate: p.applies() && p.scope.subresource == "",
		next:      p.next,
		merged:    p.applies(),
		validateCreate: func(ctx context.Context, obj runtime.Object) error {
			if err := p.authorizeCreate(ctx); err != nil {
				return err
			}
			return p.admitter.validate(ctx, admissionEvent{operation: admission.Create, obj: obj, options: createOptions(p.options)})
		},
		validateUpdate: func(ctx context.Context, obj, old runtime.Object) error {
			return p.admitter.validateUpdate(ctx, obj, old, updateOptions(p.options))
		},
	}
	r.memory = p.memory(r.spared)
	return r
}

// next returns the patched object.
func (p *patcher) next(ctx context.Context, live runtime.Object) (runtime.Object, error) {
	obj, err := p.patchedObject(ctx, live)
	if err != nil {
		return nil, err
	}
	namespace, name := p.admitter.namespace, p.admitter.name
	if exists(obj) && !exists(live) {
		return nil, apierrors.NewConflict(p.scope.resource.GroupResource(), name, fmt.Errorf(
			"uid mismatch: the provided object specified uid %s, and no existing object was found", accessor(obj).GetUID()))
	}
	if err := matchNamespace(namespace, accessor(obj)); err != nil {
		return nil, err
	}
	if err := matchName(obj, namespace, name); err != nil {
		return nil, err
	}
	change := admissionEvent{operation: admission.Update, obj: obj, old: live, options: updateOptions(p.options)}
	if !exists(live) {
		change = admissionEvent{operation: admission.Create, obj: obj, options: createOptions(p.options)}
	}
	if err := p.admitter.admit(ctx, change); err != nil {
		return nil, err
	}
	dedupOwners(ctx, obj, duplicateOwnersAfterAdmission)
	if p.bare {
		accessor(obj).SetManagedFields(nil)
	}
	return obj, nil
}

// patchedObject applies the patch to live, by its type. Only an apply makes something of nothing.
func (p *patcher) patchedObject(ctx context.Context, live runtime.Object) (runtime.Object, error) {
	if p.applies() {
		return p.applyTo(ctx, live)
	}
	if !exists(live) {
		return nil, apierrors.NewNotFound(p.scope.resource.GroupResource(), p.admitter.name)
	}
	var obj runtime.Object
	var err error
	if p.patchType == types.StrategicMergePatchType {
		obj, err = p.mergeStrategically(ctx, live)
	} else {
		obj, err = p.patchAsJSON(ctx, live)
	}
	if err != nil {
		return nil, err
	}
	return p.fields.Update(ctx, live, obj, p.manager)
}
