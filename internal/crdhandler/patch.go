package crdhandler

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
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
	"github.com/crd-server/crd-server/internal/crdhandler/write"
	"github.com/crd-server/crd-server/internal/managedfields"
)

// patch answers PATCH. terminating: the CustomResourceDefinition is being deleted, and an apply creates nothing (R4).
func (s *requestScope) patch(w http.ResponseWriter, req *http.Request, terminating bool) {
	patchType, err := patchTypeOf(req, s.patchTypes)
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
	options := write.Options{DryRun: p.Admission.DryRun, NoOp: p.noOpCheck()}
	if !p.applies() {
		options.Shrink = p.DropManagedFields
	}
	res, err := s.Retry(ctx, p.key, p.propose, options)
	if err != nil {
		s.writeFailed(ctx, err, w, req)
		return
	}
	p.respond(w, res.Code(), res.Answer)
}

// propose patches, admits and validates the object. existing is nil if there is none.
func (p *patchRequest) propose(ctx context.Context, existing runtime.Object) (write.Proposal, error) {
	live, err := p.Live(existing)
	if err != nil {
		return write.Proposal{}, err
	}
	obj, err := p.build(ctx, live.Object)
	if err != nil {
		return write.Proposal{}, err
	}
	if err := p.Admit(ctx, obj, live); err != nil {
		return write.Proposal{}, err
	}
	return p.Validate(ctx, obj, live)
}

// patchTypeOf returns the type of a patch by its content type. The error is a 415 if it is not one of those accepted.
func patchTypeOf(req *http.Request, accepted []string) (types.PatchType, error) {
	contentType, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";")
	if !slices.Contains(accepted, contentType) {
		return "", negotiation.NewUnsupportedMediaTypeError(accepted)
	}
	return types.PatchType(contentType), nil
}

// patchRequest is a PATCH: it patches the stored object.
type patchRequest struct {
	write.Replacement
	responder
	key        string
	options    *metav1.PatchOptions
	patchType  types.PatchType
	body       []byte
	validation fieldValidation
	manager    string
	fields     managedfields.Manager
}

func (s *requestScope) decodePatch(
	ctx context.Context, req *http.Request, patchType types.PatchType, terminating bool,
) (*patchRequest, error) {
	namespace, name, answer, err := s.addressed(req)
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
	target := write.Target{
		Namespace: namespace, Name: name, DryRun: isDryRun(options.DryRun), Terminating: terminating,
	}
	p := &patchRequest{
		Replacement: write.Replacement{Admission: s.Admission(ctx, target), Options: updateOptions(options)},
		responder:   answer,
		options:     options,
		patchType:   patchType,
		body:        body,
		validation:  fieldValidationOf(options.FieldValidation),
		manager:     managedfields.ManagerName(options.FieldManager, req.UserAgent()),
	}
	if p.Merged = p.applies(); p.Merged && s.Subresource == "" {
		p.Creation = &write.Creation{
			Admission: p.Admission,
			Options:   createOptions(options),
			Authorize: p.Admission.AuthorizeCreate(req.URL.Path),
		}
	}
	if p.fields, err = s.fieldManager(); err != nil {
		return nil, err
	}
	p.key, err = s.Key(p.Admission.Namespace, name)
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

// noOpCheck returns nil for patches other than apply, which clients seldom repeat.
func (p *patchRequest) noOpCheck() *write.NoOpCheck {
	if !p.applies() || p.Admission.DryRun {
		return nil
	}
	return p.scope.NewNoOpCheck(p.options.FieldManager, p.body,
		string(p.patchType), strconv.FormatBool(p.forced()), string(p.validation))
}

// build patches the live object, or makes a new one of an apply. At the scale endpoint both are Scales.
func (p *patchRequest) build(ctx context.Context, live runtime.Object) (runtime.Object, error) {
	obj, err := p.patched(ctx, live)
	if err != nil {
		return nil, err
	}
	namespace, name := p.scope.ScopedNamespace(p.Admission.Namespace), p.Admission.Name
	if objectmeta.Exists(obj) && !objectmeta.Exists(live) {
		return nil, apierrors.NewConflict(p.scope.Resource.GroupResource(), name, fmt.Errorf(
			"uid mismatch: the provided object specified uid %s, and no existing object was found",
			objectmeta.Accessor(obj).GetUID()))
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
		return nil, p.scope.NotFound(p.Admission.Name)
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
