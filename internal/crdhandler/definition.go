package crdhandler

import (
	"context"
	"net/http"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	definitiontable "k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/tableconvertor"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/crdhandler/definitions"
	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/managedfields"
)

const definitionResource = crds.Plural

// definitionScopes are the scopes of the CRD endpoint: typed objects under upstream's own rules (C1-C9).
type definitionScopes struct {
	main, status *requestScope
}

func newDefinitionScopes(config *Config) *definitionScopes {
	gv := apiextensionsv1.SchemeGroupVersion
	codec := definitions.Codec{}
	rules, statusRules := definitions.NewStrategy(), definitions.NewStatusStrategy()
	main := &requestScope{
		config:     config,
		resource:   gv.WithResource(definitionResource),
		kind:       gv.WithKind("CustomResourceDefinition"),
		listKind:   gv.WithKind("CustomResourceDefinitionList"),
		hub:        apiextensions.SchemeGroupVersion,
		serializer: crds.Codecs,
		patchTypes: []string{
			string(types.JSONPatchType), string(types.MergePatchType), string(types.StrategicMergePatchType), string(types.ApplyYAMLPatchType),
		},
		objects: objectInterfaces{
			creater: crds.Scheme, typer: crds.Scheme, defaulter: crds.Scheme, convertor: crds.Scheme,
			equivalents: runtime.NewEquivalentResourceRegistry(),
		},
		storage: &storage{
			resource: config.Store.Resource(crds.GroupName, crds.Plural),
			viewer:   dynamicstorage.NewViewer(codec.Views),
			codec:    codec,
		},
		strategy: rules,
		columns:  func() (printing.TableConvertor, error) { return definitiontable.New(), nil },
		finalize: definitions.MarkForDeletion,
		inEffect: config.ReconcileDefinition,
		replaced: context.Background(),
	}
	main.setDefinitionFields(rules.GetResetFields())
	status := *main
	status.subresource = "status"
	status.strategy = statusRules
	status.setDefinitionFields(statusRules.GetResetFields())
	return &definitionScopes{main: main, status: &status}
}

func (s *requestScope) setDefinitionFields(reset managedfields.ResetFields) {
	config := s.fieldManagerConfig()
	config.ResetFields = reset
	s.fieldManager = definitions.LazyFieldManager(config)
}

// serveDefinitions answers requests for CustomResourceDefinitions and their status.
func (h *crdHandler) serveDefinitions(w http.ResponseWriter, req *http.Request, info *request.RequestInfo) {
	if info.APIVersion != apiextensionsv1.SchemeGroupVersion.Version || info.Namespace != "" {
		h.config.Delegate.ServeHTTP(w, req)
		return
	}
	scope := h.definitions.main
	switch info.Subresource {
	case "":
	case "status":
		scope = h.definitions.status
	default:
		h.config.Delegate.ServeHTTP(w, req)
		return
	}
	if !definitions.HasVerb(info.Verb, info.Subresource, len(info.Parts) > 1) { // answered as by upstream's router
		scope.err(apierrors.NewGenericServerResponse(http.StatusMethodNotAllowed, req.Method, schema.GroupResource{}, "", "", 0, false), w, req)
		return
	}
	handle := scope.verb(info.Verb, false)
	instrumented(handle, info, false)(w, req)
}
