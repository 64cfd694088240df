package definitions

import (
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	upstream "k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/managedfields"
)

// LazyFieldManager returns a function that builds the field manager of CRDs on first use. It sets config.Types.
func LazyFieldManager(config managedfields.Config) func() (managedfields.Manager, error) {
	return sync.OnceValues(func() (managedfields.Manager, error) {
		var err error
		if config.Types, err = typeConverter(); err != nil {
			return nil, err
		}
		return managedfields.NewTyped(config)
	})
}

// typeConverter returns the structure of CRDs (which lists merge by which keys) from upstream's generated OpenAPI.
var typeConverter = sync.OnceValues(func() (upstream.TypeConverter, error) {
	models, err := builder3.BuildOpenAPIDefinitionsForResources(&common.OpenAPIV3Config{
		GetDefinitions:    generatedopenapi.GetOpenAPIDefinitions,
		GetDefinitionName: openapi.NewDefinitionNamer(crds.Scheme).GetDefinitionName,
	}, apiextensionsv1.CustomResourceDefinition{}.OpenAPIModelName())
	if err != nil {
		return nil, err
	}
	return upstream.NewTypeConverter(models, false)
})
