package managedfields

import (
	"os"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/yaml"

	"github.com/crd-server/crd-server/internal/conversion"
	"github.com/crd-server/crd-server/internal/validation"
)

func TestMain(m *testing.M) {
	// The default handlers pause, in real time even inside synctest, so that two managers could write different
	// seconds.
	utilruntime.ErrorHandlers = nil
	goleak.VerifyTestMain(m)
}

// creater returns empty objects.
type creater struct{}

func (creater) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	return obj, nil
}

// defaulter sets the defaults of a schema.
type defaulter struct{ schemas *validation.Set }

func (d defaulter) Default(obj runtime.Object) {
	_ = d.schemas.Default(obj.(*unstructured.Unstructured).Object, validation.MaxDefaults)
}

// machinesCRD returns testdata/machines.yaml with a second version, v2, of the same schema.
func machinesCRD(t testing.TB) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	text, err := os.ReadFile("testdata/machines.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		t.Fatal(err)
	}
	second := crd.Spec.Versions[0].DeepCopy()
	second.Name, second.Storage = "v2", false
	crd.Spec.Versions = append(crd.Spec.Versions, *second)
	return crd
}

// configOf returns the endpoint of a version of machines.
func configOf(t testing.TB, version, subresource string) Config {
	t.Helper()
	crd := machinesCRD(t)
	schemas := setOf(crd)
	converters, err := conversion.NewFactory(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	converter, err := converters.New(crd, schemas)
	if err != nil {
		t.Fatal(err)
	}
	types := schemas.TypeConverter()
	reset := schemas.Version(version).ResetFields()
	if subresource == "status" {
		reset = schemas.StatusResetFields()
	}
	gv := schema.GroupVersion{Group: crd.Spec.Group, Version: version}
	return Config{
		Types: types, Convertor: converter.ObjectConvertor(), Defaulter: defaulter{schemas}, Creater: creater{},
		Kind: gv.WithKind("Machine"), Hub: gv, Subresource: subresource, ResetFields: reset,
	}
}

// noMachine returns the live object of a machine that does not exist yet.
func noMachine() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Machine"}}
}

// setOf returns the compiled schemas of a CRD.
func setOf(crd *apiextensionsv1.CustomResourceDefinition) *validation.Set {
	return validation.New(crd, func() (*apiextensions.CustomResourceDefinition, error) {
		whole := &apiextensions.CustomResourceDefinition{}
		return whole, apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd,
			whole, nil)
	})
}
