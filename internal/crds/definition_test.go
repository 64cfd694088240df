package crds

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
)

// widgets is a CRD with every field that a record uses.
const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
  uid: 6a7ed1f4-0c3a-4a57-a4f4-30f0b7ce1a5f
  generation: 3
  creationTimestamp: "2026-01-02T03:04:05Z"
  labels: {a: b}
  annotations: {c: d}
  finalizers: [example.com/hold]
  managedFields:
  - manager: kubectl
    operation: Update
    apiVersion: apiextensions.k8s.io/v1
    fieldsType: FieldsV1
    fieldsV1: {"f:spec": {}}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList, shortNames: [wd], categories: [all]}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {service: {namespace: hooks, name: hook}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {replicas: {type: integer,
      default: 1}}}}}}
  - name: v1beta1
    served: true
    storage: false
    deprecated: true
    deprecationWarning: do not
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
status:
  storedVersions: [v1]
  acceptedNames: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList, shortNames: [wd],
  categories: [all]}
  conditions:
  - {type: NamesAccepted, status: "True", reason: NoConflicts, message: no conflicts found,
    lastTransitionTime: "2026-01-02T03:04:05Z"}
  - {type: Established, status: "True", reason: InitialNamesAccepted, message: the initial names have been accepted,
    lastTransitionTime: "2026-01-02T03:04:05Z"}
`

// ancient is a CRD of old clusters: v1beta1 without optional fields.
const ancient = `{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"CustomResourceDefinition",
"metadata":{"name":"olds.example.com","uid":"1"},
"spec":{"group":"example.com","version":"v1","names":{"plural":"olds","kind":"Old"},"subresources":{"status":{}},
"validation":{"openAPIV3Schema":{"type":"object"}}},
"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":null}}`

func internalOf(t *testing.T, manifest string) *apiextensions.CustomResourceDefinition {
	t.Helper()
	crd, err := DecodeDefinition([]byte(manifest), 7)
	if err != nil {
		t.Fatal(err)
	}
	return crd
}

func TestEncodeWritesWhatUpstreamWrites(t *testing.T) {
	t.Parallel()
	oracle := apiserver.Codecs.LegacyCodec(v1beta1.SchemeGroupVersion, apiextensionsv1.SchemeGroupVersion)
	for name, manifest := range manifests {
		t.Run(name, func(t *testing.T) {
			crd := internalOf(t, manifest)
			value, err := EncodeDefinition(crd)
			if err != nil {
				t.Fatal(err)
			}
			if crd.ResourceVersion != "7" {
				t.Errorf("the object was changed: resourceVersion %q", crd.ResourceVersion)
			}
			unversioned := crd.DeepCopy()
			unversioned.ResourceVersion = ""
			want, err := runtime.Encode(oracle, unversioned)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(value)); diff != "" {
				t.Error(diff)
			}
			if !bytes.HasSuffix(value, []byte("}\n")) ||
				!strings.Contains(string(value), `"apiVersion":"apiextensions.k8s.io/v1beta1"`) {
				t.Errorf("not v1beta1 with a newline: %s", value)
			}
		})
	}
}

// encodings returns crd in every stored encoding.
func encodings(t *testing.T, crd *apiextensions.CustomResourceDefinition) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	codecs := serializer.NewCodecFactory(Scheme, serializer.WithSerializer(cbor.NewSerializerInfo))
	for _, info := range codecs.SupportedMediaTypes() {
		for _, version := range []schema.GroupVersion{apiextensionsv1.SchemeGroupVersion, v1beta1.SchemeGroupVersion} {
			value, err := runtime.Encode(codecs.EncoderForVersion(info.Serializer, version), crd)
			if err != nil {
				t.Fatal(err)
			}
			out[info.MediaType+" "+version.Version] = value
		}
	}
	return out
}

func TestDecodeReadsEveryEncoding(t *testing.T) {
	t.Parallel()
	want := internalOf(t, widgets)
	all := encodings(t, want)
	if len(all) != 8 {
		t.Errorf("want JSON, YAML, protobuf and CBOR in two versions, have %d encodings", len(all))
	}
	for name, value := range all {
		t.Run(name, func(t *testing.T) {
			got, err := DecodeDefinition(value, 7)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeRefusesOtherValues(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", "{", "null", "{}", `{"apiVersion":"v1","kind":"Secret"}`,
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":7}`} {
		if _, err := DecodeDefinition([]byte(value), 1); err == nil {
			t.Errorf("%q was decoded", value)
		}
	}
}
