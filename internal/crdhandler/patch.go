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
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"

	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/managedfields"
)

// patch answers PATCH. terminating: the CustomResourceDefinition is being deleted, and an apply creates nothing (R4).
func (s *requestScope) patch(w http.ResponseWriter, req *http.Request, terminating bool) {
	patchType, err := s.patchType(req)
	if err != nil {
		s.err(err, w, req)
		return
	}
	ctx, cancel := s.writeContext(req)
	defer cancel()
	p, err := s.decodePatch(ctx, req, patchType, terminating)
	if err != nil {
		s.err(err, w, req)
		return
	}
	res, err := p.run(ctx)
	if err != nil {
		s.writeFailed(ctx, err, w, req)
		return
	}
	code := http.StatusOK
	if res.created {
		code = http.StatusCreated
	}
	s.respond(w, req, code, p.media, res.result)
}

// patchType returns the type of a patch by its content type. The error is a 415 if the endpoint does not accept it.
func (s *requestScope) patchType(req *http.Request) (types.PatchType, error) {
	contentType, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";")
	if !slices.Contains(s.patchTypes, contentType) {
		return "", negotiation.NewUnsupportedMediaTypeError(s.patchTypes)
	}
	return types.PatchType(contentType), nil
}

// patchRequest is a PATCH: it patches the stored object.
type patchRequest struct {
	scope      *requestScope
	admission  *admitter
	options    *metav1.PatchOptions
	patchType  types.PatchType
	body       []byte
	validation fieldValidation
	manager    string
	fields     managedfields.Manager
	media      negotiation.MediaTypeOptions
	// authorizeCreate decides whether the user may create the object.
	authorizeCreate func(ctx context.Context) error
}

func (s *requestScope) decodePatch(ctx context.Context, req *http.Request, patchType types.PatchType, terminating bool) (*patchRequest, error) {
	namespace, name, media, err := s.addressed(req)
	if err != nil {
		return nil, err
	}
	body, err := s.readBody(req)
	if err != nil {
		return nil, err
	}
	options := &metav1.PatchOptions{}
	err = readOptions(req, options, "PatchOptions", func(o *metav1.PatchOptions) field.ErrorList {
		return validation.ValidatePatchOptions(o, patchType)
	})
	if err != nil {
		return nil, err
	}
	if err := checkBody(body, bodyType(body, patchType)); err != nil {
		return nil, err
	}
	readable, err := patchJSON(body, patchType)
	if err != nil {
		return nil, err
	}
	if audit.AuditContextFrom(ctx) != nil {
		audit.LogRequestPatch(ctx, readable)
	}
	p := &patchRequest{
		scope: s,
		admission: s.admitter(ctx, admissionTarget{
			namespace: namespace, name: name, dryRun: isDryRun(options.DryRun), terminating: terminating,
		}),
		options:    options,
		patchType:  patchType,
		body:       body,
		validation: fieldValidationOf(options.FieldValidation),
		manager:    managedfields.ManagerName(options.FieldManager, req.UserAgent()),
		media:      media,
	}
	p.authorizeCreate = p.admission.authorizeCreate(req.URL.Path)
	p.fields, err = s.fieldManager()
	return p, err
}

// bodyType returns the media type of the body of a patch.
func bodyType(body []byte, patchType types.PatchType) string {
	switch {
	case patchType == types.ApplyCBORPatchType:
		return runtime.ContentTypeCBOR
	case patchType == types.ApplyYAMLPatchType && !yaml.IsJSONBuffer(body):
		return runtime.ContentTypeYAML
	}
	return runtime.ContentTypeJSON
}

// patchJSON returns a patch as JSON for the audit log. It refuses patches that are not well-formed.
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

// applies reports whether the patch is an apply, which may create the object.
func (p *patchRequest) applies() bool {
	return p.patchType == types.ApplyYAMLPatchType || p.patchType == types.ApplyCBORPatchType
}

// forced reports whether an apply takes fields from other managers.
func (p *patchRequest) forced() bool { return p.options.Force != nil && *p.options.Force }

// run patches the object.
func (p *patchRequest) run(ctx context.Context) (updateResult, error) {
	change := &replacement{scope: p.scope, admission: p.admission, builder: p, options: updateOptions(p.options), merged: p.applies()}
	if p.applies() && p.scope.subresource == "" {
		change.creation = &creation{scope: p.scope, admission: p.admission, options: createOptions(p.options), authorize: p.authorizeCreate}
	}
	res, err := change.run(ctx, p.newNoOpCheck())
	if errors.Is(err, dynamicstorage.ErrTooLarge) && !p.applies() {
		change.dropManagedFields = true
		res, err = change.run(ctx, nil)
	}
	return res, err
}

// build implements objectBuilder: it patches the live object.
func (p *patchRequest) build(ctx context.Context, live runtime.Object) (runtime.Object, error) {
	obj, err := p.patched(ctx, live)
	if err != nil {
		return nil, err
	}
	namespace, name := p.scope.scopedNamespace(p.admission.namespace), p.admission.name
	if objectmeta.Exists(obj) && !objectmeta.Exists(live) {
		return nil, apierrors.NewConflict(p.scope.resource.GroupResource(), name, fmt.Errorf(
			"uid mismatch: the provided object specified uid %s, and no existing object was found", objectmeta.Accessor(obj).GetUID()))
	}
	if err := objectmeta.MatchNamespace(namespace, objectmeta.Accessor(obj)); err != nil {
		return nil, err
	}
	return obj, objectmeta.MatchName(obj, namespace, name)
}

// patched applies the patch to live, by its type. Only an apply needs no live object.
func (p *patchRequest) patched(ctx context.Context, live runtime.Object) (runtime.Object, error) {
	if p.applies() {
		return p.applyTo(ctx, live)
	}
	if !objectmeta.Exists(live) {
		return nil, apierrors.NewNotFound(p.scope.resource.GroupResource(), p.admission.name)
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

// createOptions returns the options that admission sees when an apply creates the object.
func createOptions(options *metav1.PatchOptions) *metav1.CreateOptions {
	return &metav1.CreateOptions{
		TypeMeta:        metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(), Kind: "CreateOptions"},
		DryRun:          options.DryRun,
		FieldManager:    options.FieldManager,
		FieldValidation: options.FieldValidation,
	}
}

// updateOptions returns the options that admission sees when a patch updates the object.
func updateOptions(options *metav1.PatchOptions) *metav1.UpdateOptions {
	return &metav1.UpdateOptions{
		TypeMeta:        metav1.TypeMeta{APIVersion: metav1.SchemeGroupVersion.String(), Kind: "UpdateOptions"},
		DryRun:          options.DryRun,
		FieldManager:    options.FieldManager,
		FieldValidation: options.FieldValidation,
	}
}
