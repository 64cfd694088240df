package crdhandler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"github.com/crd-server/crd-server/internal/conversion"
	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/crdhandler/scales"
	"github.com/crd-server/crd-server/internal/crdhandler/schemas"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// gadget returns the CRD of gadgets, with a schema and the subresources status and scale.
func gadget() *apiextensionsv1.CustomResourceDefinition {
	selector := ".status.selector"
	integer := apiextensionsv1.JSONSchemaProps{Type: "integer"}
	names := apiextensionsv1.CustomResourceDefinitionNames{Plural: "gadgets", Singular: "gadget", Kind: "Gadget",
		ListKind: "GadgetList"}
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gadgets.example.com", UID: "gadgets"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Names: names, Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"spec": {Type: "object",
							Properties: map[string]apiextensionsv1.JSONSchemaProps{"replicas": integer,
								"size": integer}},
						"status": {Type: "object",
							Properties: map[string]apiextensionsv1.JSONSchemaProps{"replicas": integer,
								"selector": {Type: "string"}}},
					},
				}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
					Scale: &apiextensionsv1.CustomResourceSubresourceScale{
						SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas",
						LabelSelectorPath: &selector,
					},
				},
			}},
		},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{AcceptedNames: names, StoredVersions: []string{"v1"}},
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	return crd
}

// newGadgets starts a server of gadgets with the validation and encoding of real custom resources.
func newGadgets(t *testing.T, configure func(*writes)) *writes {
	t.Helper()
	return newWrites(t, func(f *writes) {
		if configure != nil {
			configure(f)
		}
		internal, err := crds.FromV1(gadget())
		if err != nil {
			t.Fatal(err)
		}
		value, err := crds.EncodeDefinition(internal)
		if err != nil {
			t.Fatal(err)
		}
		record, err := crds.NewRecord(&dynamicstorage.Entry{Key: "gadgets.example.com", Revision: 1, Value: value})
		if err != nil {
			t.Fatal(err)
		}
		if f.config.Converters, err = conversion.NewFactory(nil, nil); err != nil {
			t.Fatal(err)
		}
		info, err := newCRDInfo(f.config, schemas.NewCache(0), record)
		if err != nil {
			t.Fatal(err)
		}
		served := info.versions["v1"]
		f.scope = served.main
		f.subresources = map[string]*requestScope{"status": served.status, "scale": served.scale}
	})
}

func gadgetJSON(name, metadata, spec string) string {
	return strings.Replace(widget(name, metadata, spec), "Widget", "Gadget", 1)
}

const mergePatchType = "application/merge-patch+json"

func TestScale(t *testing.T) {
	t.Parallel()
	f := newGadgets(t, nil)
	obj := f.do(call{method: "POST", body: gadgetJSON("a", "", `{"replicas":1,"size":7}`)}).is(201).obj
	f.do(call{method: "PATCH", path: "/a/status", contentType: mergePatchType,
		body: `{"status":{"replicas":4,"selector":"a=b"}}`}).is(200)
	scaleJSON := func(metadata string, replicas int) string {
		return fmt.Sprintf(`{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a"%s},"spec":{"replicas":%d}}`,
			metadata, replicas)
	}

	t.Run("read", func(t *testing.T) {
		scale := f.get("a/scale").is(200).obj
		if scale.GetKind() != "Scale" || scale.GetUID() != obj.GetUID() ||
			fmt.Sprint(scale.Object["spec"]) != "map[replicas:1]" ||
			fmt.Sprint(scale.Object["status"]) != "map[replicas:4 selector:a=b]" {
			t.Errorf("got %v", scale)
		}
	})
	t.Run("put", func(t *testing.T) {
		scale := f.do(call{method: "PUT", path: "/a/scale", body: scaleJSON("", 3), agent: "scaler/1"}).is(200).obj
		if scale.GetKind() != "Scale" || fmt.Sprint(scale.Object["spec"]) != "map[replicas:3]" {
			t.Errorf("got %v", scale)
		}
		stored := f.get("a").is(200).obj
		if fmt.Sprint(stored.Object["spec"]) != "map[replicas:3 size:7]" || stored.GetGeneration() != 2 ||
			stored.GetResourceVersion() != scale.GetResourceVersion() {
			t.Errorf("stored %v", stored)
		}
		owned := map[string]string{}
		for _, entry := range stored.GetManagedFields() {
			owned[entry.Manager+"/"+entry.Subresource] += entry.FieldsV1.GetRawString()
		}
		if owned["scaler/scale"] != `{"f:spec":{"f:replicas":{}}}` || strings.Contains(owned["tester/"], "replicas") {
			t.Errorf("managed fields: got %v", owned)
		}
	})
	t.Run("patch", func(t *testing.T) {
		scale := f.do(call{method: "PATCH", path: "/a/scale", contentType: mergePatchType,
			body: `{"spec":{"replicas":5},"status":{"replicas":9}}`}).is(200).obj
		if fmt.Sprint(scale.Object["spec"], scale.Object["status"]) != "map[replicas:5] map[replicas:4 selector:a=b]" {
			t.Errorf("got %v", scale)
		}
	})
	t.Run("dry run", func(t *testing.T) {
		scale := f.do(call{method: "PATCH", path: "/a/scale?dryRun=All", contentType: mergePatchType,
			body: `{"spec":{"replicas":6}}`}).is(200).obj
		if scale.GetKind() != "Scale" || fmt.Sprint(scale.Object["spec"]) != "map[replicas:6]" {
			t.Errorf("got %v", scale)
		}
	})
	t.Run("preconditions", func(t *testing.T) {
		f.do(call{method: "PUT", path: "/a/scale", body: scaleJSON(`,"resourceVersion":"`+obj.GetResourceVersion()+`"`,
			3)}).
			fails(409, metav1.StatusReasonConflict, strings.Replace(modified, "widgets", "gadgets", 1))
		f.do(call{method: "PUT", path: "/a/scale", body: scaleJSON(`,"uid":"x"`, 3)}).is(409)
	})
	t.Run("invalid", func(t *testing.T) {
		f.do(call{method: "PUT", path: "/a/scale", body: scaleJSON("", -1)}).fails(422, metav1.StatusReasonInvalid,
			`Gadget.example.com "a" is invalid: .spec.replicas: Invalid value: -1: should be a non-negative integer`)
		f.do(call{method: "PUT", path: "/a/scale", body: gadgetJSON("a", "", `{}`)}).is(400)
		f.do(call{method: "PUT", path: "/none/scale", body: strings.Replace(scaleJSON("", 1), `"a"`, `"none"`, 1)}).
			fails(404, metav1.StatusReasonNotFound, `gadgets.example.com "none" not found`)
		f.do(call{method: "PATCH", path: "/none/scale?fieldManager=m", contentType: "application/apply-patch+yaml",
			body: strings.Replace(scaleJSON("", 1), `"a"`, `"none"`, 1)}).is(404)
	})
	t.Run("apply", func(t *testing.T) {
		// Upstream cannot apply to the scale of custom resources either.
		f.do(call{method: "PATCH", path: "/a/scale?fieldManager=applier&force=true",
			contentType: "application/apply-patch+yaml", body: scaleJSON("", 8)}).
			fails(500, "",
				"failed to convert new object (/a; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an "+
					"invalid group/version: autoscaling/v1")
	})
	t.Run("without replicas", func(t *testing.T) {
		f.do(call{method: "POST", body: gadgetJSON("bare", "", `{}`)}).is(201)
		f.get("bare/scale").fails(500, metav1.StatusReasonInternalError,
			`Internal error occurred: the spec replicas field ".spec.replicas" does not exist`)
		f.do(call{method: "PATCH", path: "/bare/scale", contentType: mergePatchType, body: `{}`}).
			fails(400, metav1.StatusReasonBadRequest, `the spec replicas field ".spec.replicas" cannot be empty`)
		f.do(call{method: "PATCH", path: "/bare/scale", contentType: mergePatchType,
			body: `{"spec":{"replicas":2}}`}).is(200)
	})
	t.Run("through protobuf", func(t *testing.T) {
		info, _ := runtime.SerializerInfoForMediaType(scales.Serializer().SupportedMediaTypes(),
			runtime.ContentTypeProtobuf)
		body, err := runtime.Encode(scales.Serializer().EncoderForVersion(info.Serializer,
			autoscalingv1.SchemeGroupVersion), &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: autoscalingv1.ScaleSpec{Replicas: 11},
		})
		if err != nil {
			t.Fatal(err)
		}
		f.do(call{method: "PUT", path: "/a/scale", contentType: runtime.ContentTypeProtobuf,
			body: string(body)}).is(200)
	})
}

func TestStatus(t *testing.T) {
	t.Parallel()
	f := newGadgets(t, nil)
	f.do(call{method: "POST", body: gadgetJSON("a", "", `{"replicas":1}`)}).is(201)
	obj := f.do(call{method: "PATCH", path: "/a/status", contentType: mergePatchType,
		body: `{"metadata":{"labels":{"x":"y"}},"spec":{"replicas":9},"status":{"replicas":4}}`}).is(200).obj
	if fmt.Sprint(obj.Object["spec"], obj.Object["status"]) != "map[replicas:1] map[replicas:4]" ||
		len(obj.GetLabels()) != 0 || obj.GetGeneration() != 1 {
		t.Errorf("got %v", obj)
	}
	f.do(call{method: "PATCH", path: "/a", contentType: mergePatchType,
		body: `{"spec":{"unknown":1}}`}).is(200).warns(`unknown field \"spec.unknown\"`)
	f.do(call{method: "PATCH", path: "/a?fieldValidation=Strict", contentType: mergePatchType,
		body: `{"spec":{"unknown":1}}`}).is(422)
	f.do(call{method: "POST", path: "?fieldValidation=Strict", body: gadgetJSON("b", "", `{"unknown":1}`)}).
		fails(400, metav1.StatusReasonBadRequest,
			`Gadget in version "v1" cannot be handled as a Gadget: strict decoding error: unknown field "spec.unknown"`)
	f.do(call{method: "PATCH", path: "/c?fieldManager=m&fieldValidation=Strict",
		contentType: "application/apply-patch+yaml", body: gadgetJSON("c", "", `{"unknown":1}`)}).is(500)
}

// TestAdmission checks which operations the admission plugins see, and that they can change and refuse objects.
func TestAdmission(t *testing.T) {
	t.Parallel()
	plugin := &recordingAdmission{}
	f := newGadgets(t, func(f *writes) { f.config.Admission = plugin })
	asked := func(want ...string) {
		t.Helper()
		if got := strings.Join(plugin.asked, "; "); got != strings.Join(want, "; ") {
			t.Errorf("asked %q\nwant  %q", got, strings.Join(want, "; "))
		}
		plugin.asked = nil
	}
	obj := f.do(call{method: "POST", body: gadgetJSON("a", "", `{"replicas":1}`)}).is(201).obj
	asked("admit CREATE gadgets a Gadget", "validate CREATE gadgets a Gadget")
	if obj.GetLabels()["admitted"] != "true" {
		t.Errorf("the change is lost: %v", obj)
	}
	body := strings.Replace(gadgetJSON("", `"generateName":"g"`, `{}`), `"name":"",`, "", 1)
	name := f.do(call{method: "POST", body: body}).is(201).obj.GetName()
	asked("admit CREATE gadgets  Gadget", "validate CREATE gadgets "+name+" Gadget")

	f.put(obj, "?dryRun=All", func(*unstructured.Unstructured) {}).is(200)
	asked("admit UPDATE gadgets a Gadget dry", "validate UPDATE gadgets a Gadget dry")
	f.do(call{method: "PATCH", path: "/a/scale", contentType: mergePatchType, body: `{"spec":{"replicas":2}}`}).is(200)
	asked("admit UPDATE gadgets/scale a Scale", "validate UPDATE gadgets/scale a Scale")
	f.do(call{method: "PATCH", path: "/b?fieldManager=m", contentType: "application/apply-patch+yaml",
		body: gadgetJSON("b", "", `{}`)}).is(201)
	asked("admit CREATE gadgets b Gadget", "validate CREATE gadgets b Gadget")
	f.del("/b", "").is(200)
	asked("admit DELETE gadgets b Gadget", "validate DELETE gadgets b Gadget")

	plugin.refuse = errors.New("no")
	const message = `gadgets.example.com "a" is forbidden: no`
	f.del("/a", "").fails(403, metav1.StatusReasonForbidden, message)
	f.put(f.get("a").obj, "", func(*unstructured.Unstructured) {}).fails(403, metav1.StatusReasonForbidden, message)
	f.get("a").is(200)
}

// TestAdmittedObjectsAreLimited checks that an object that an admission plugin has changed keeps to the limits of
// bodies.
func TestAdmittedObjectsAreLimited(t *testing.T) {
	t.Parallel()
	plugin := &recordingAdmission{}
	f := newGadgets(t, func(f *writes) { f.config.Admission = plugin })
	f.do(call{method: "POST", body: gadgetJSON("a", "", `{"replicas":1}`)}).is(201)
	deep := map[string]any{}
	for range 1000 {
		deep = map[string]any{"a": deep}
	}
	finalizers := make([]string, 10_001)
	for n := range finalizers {
		finalizers[n] = fmt.Sprint("example.com/f", n)
	}
	for _, test := range []struct {
		change  func(obj *unstructured.Unstructured)
		code    int
		reason  metav1.StatusReason
		message string
	}{
		{func(obj *unstructured.Unstructured) { obj.Object["spec"] = deep }, 400, metav1.StatusReasonBadRequest,
			"objects and lists may be nested 1000 levels deep"},
		{func(obj *unstructured.Unstructured) { obj.SetFinalizers(finalizers) }, 413,
			metav1.StatusReasonRequestEntityTooLarge,
			"Request entity too large: metadata.finalizers has 10001 entries, at most 10000 are allowed"},
	} {
		plugin.change = test.change
		f.do(call{method: "POST", body: gadgetJSON("b", "", `{}`)}).fails(test.code, test.reason, test.message)
		f.do(call{method: "PATCH", path: "/a", contentType: mergePatchType, body: `{"spec":{"replicas":2}}`}).
			fails(test.code, test.reason, test.message)
		f.do(call{method: "PATCH", path: "/c?fieldManager=m", contentType: "application/apply-patch+yaml",
			body: gadgetJSON("c", "", `{}`)}).fails(test.code, test.reason, test.message)
	}
}

// recordingAdmission is an admission plugin that records its calls. It labels objects and changes them, and refuses
// them if refuse is set.
type recordingAdmission struct {
	asked  []string
	change func(obj *unstructured.Unstructured)
	refuse error
}

var (
	_ admission.MutationInterface   = &recordingAdmission{}
	_ admission.ValidationInterface = &recordingAdmission{}
)

func (p *recordingAdmission) Handles(admission.Operation) bool { return true }

func (p *recordingAdmission) note(phase string, a admission.Attributes) {
	obj := a.GetObject()
	if obj == nil {
		obj = a.GetOldObject()
	}
	resource := strings.TrimSuffix(a.GetResource().Resource+"/"+a.GetSubresource(), "/")
	text := fmt.Sprintf("%s %s %s %s %s", phase, a.GetOperation(), resource, a.GetName(),
		obj.GetObjectKind().GroupVersionKind().Kind)
	if a.IsDryRun() {
		text += " dry"
	}
	p.asked = append(p.asked, text)
}

func (p *recordingAdmission) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	p.note("admit", a)
	if obj := a.GetObject(); obj != nil && a.GetSubresource() == "" {
		objectmeta.Accessor(obj).SetLabels(map[string]string{"admitted": "true"})
	}
	if obj, ok := a.GetObject().(*unstructured.Unstructured); ok && p.change != nil {
		p.change(obj)
	}
	return nil
}

func (p *recordingAdmission) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	p.note("validate", a)
	if p.refuse != nil {
		return admission.NewForbidden(a, p.refuse)
	}
	return nil
}
