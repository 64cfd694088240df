package schemas_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-openapi/pkg/util"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/schemas"
)

// TestEveryKindHasADefinition reads the definitions of the kinds in the table.
func TestEveryKindHasADefinition(t *testing.T) {
	t.Parallel()
	for _, d := range builtin.Definitions(builtin.TierAll) {
		for _, object := range []runtime.Object{d.Object, d.List} {
			if object == nil { // bindings have no list
				continue
			}
			name := util.GetCanonicalTypeName(object)
			definitions, err := schemas.Definitions(schemas.PrefixV2, name)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := definitions[name]; !ok {
				t.Errorf("there is no definition of %s; add it to types.txt and run make generate", name)
			}
		}
	}
}
