package crdhandler

import (
	"context"
	"net/http"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	definitiontable "k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/tableconvertor"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

const definitionResource = crds.Plural

// definitionScopes are the scopes of the CRD endpoint: typed objects under upstream's own rules (C1-C9).
type definitionScopes struct {
	main, status *requestScope
}

func newDefinitionScopes(config *Config, ahead *headStart) (*definitionScopes, error) {
	gv := apiextensionsv1.SchemeGroupVersion
	rules := customresourcedefinition.NewStrategy(crds.Scheme)
	statusRules := customresourcedefinition.NewStatusStrategy(crds.Scheme)
	codec := &definitionCodec{}
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
			viewer:   dynamicstorage.NewViewer(codec.views),
			codec:    codec,
		},
		strategy: startingAhead{strategy: definitionRules{rules}, ahead: ahead},
		table:    func() (printing.TableConvertor, error) { return definitiontable.New(), nil },
		finalize: markForDeletion,
		inEffect: config.Settle,
		replaced: context.Background(),
	}
	main.fieldManager = main.definitionFieldManager(rules.GetResetFields())
	status := *main
	status.subresource = "status"
	status.strategy = definitionStatusStrategy{strategy: rules, status: statusRules}
	status.fieldManager = status.definitionFieldManager(statusRules.GetResetFields())
	return &definitionScopes{main: main, status: &status}, nil
}

// definitionEndpoint is one of the paths of the CRD endpoint.
type definitionEndpoint struct {
	subresource string
	item        bool
}

// definitionVerbs are the verbs each path takes. Others are refused without a look at the resource, in the words of
// upstream's router.
var definitionVerbs = map[definitionEndpoint]sets.Set[string]{
	{}:                                  sets.New("list", "watch", "create", "deletecollection"),
	{item: true}:                        sets.New("get", "watch", "update", "patch", "delete"),
	{item: true, subresource: "status"}: sets.New("get", "update", "patch"),
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
	if !definitionVerbs[definitionEndpoint{subresource: info.Subresource, item: len(info.Parts) > 1}].Has(info.Verb) {
		scope.err(apierrors.NewGenericServerResponse(http.StatusMethodNotAllowed, req.Method, schema.GroupResource{}, "", "", 0, false), w, req)
		return
	}
	handle := scope.verb(info.Verb, false)
	instrumented(handle, info, false)(w, req)
}

// definitionFieldManager returns a function that builds the field manager of CRDs on first use.
func (s *requestScope) definitionFieldManager(reset resetFields) func() (fieldManager, error) {
	kind, hub, subresource, objects := s.kind, s.hub, s.subresource, s.objects
	return sync.OnceValues(func() (fieldManager, error) {
		converter, err := definitionTypeConverter()
		if err != nil {
			return nil, err
		}
		library, err := managedfields.NewDefaultFieldManager(converter, objects.convertor, objects.defaulter, objects.creater,
			kind, hub, subresource, fieldpath.NewExcludeFilterSetMap(reset))
		if err != nil {
			return nil, err
		}
		return definitionFields{library}, nil
	})
}

// definitionTypeConverter reads the structure of CRDs (which lists merge by which keys) from upstream's generated OpenAPI.
var definitionTypeConverter = sync.OnceValues(func() (managedfields.TypeConverter, error) {
	models, err := builder3.BuildOpenAPIDefinitionsForResources(&common.OpenAPIV3Config{
		GetDefinitions:    generatedopenapi.GetOpenAPIDefinitions,
		GetDefinitionName: openapi.NewDefinitionNamer(crds.Scheme).GetDefinitionName,
	}, apiextensionsv1.CustomResourceDefinition{}.OpenAPIModelName())
	if err != nil {
		return nil, err
	}
	return managedfields.NewTypeConverter(models, false)
})

// markForDeletion answers the first DELETE of a CRD: it gets the finalizer under which its instances are
// deleted, and the Terminating condition, and stays until the lifecycle has done that (C4).
func markForDeletion(obj runtime.Object) bool {
	crd := obj.(*apiextensions.CustomResourceDefinition)
	if !crd.DeletionTimestamp.IsZero() {
		return false
	}
	now := metav1.Now()
	crd.DeletionTimestamp = &now
	if !apiextensions.CRDHasFinalizer(crd, apiextensions.CustomResourceCleanupFinalizer) {
		crd.Finalizers = append(crd.Finalizers, apiextensions.CustomResourceCleanupFinalizer)
	}
	apiextensions.SetCRDCondition(crd, apiextensions.CustomResourceDefinitionCondition{
		Type:    apiextensions.Terminating,
		Status:  apiextensions.ConditionTrue,
		Reason:  "InstanceDeletionPending",
		Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
	})
	return true
}

// definitionStatusStrategy is upstream's status strategy for updates; it creates nothing.
type definitionStatusStrategy struct {
	strategy
	status interface {
		PrepareForUpdate(ctx context.Context, obj, old runtime.Object)
		ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList
		WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string
	}
}

func (s definitionStatusStrategy) PrepareForUpdate(ctx context.Context, obj, old runtime.Object) {
	s.status.PrepareForUpdate(ctx, obj, old)
}

func (s definitionStatusStrategy) ValidateUpdate(ctx context.Context, obj, old runtime.Object) field.ErrorList {
	return s.status.ValidateUpdate(ctx, obj, old)
}

func (s definitionStatusStrategy) WarningsOnUpdate(ctx context.Context, obj, old runtime.Object) []string {
	return s.status.WarningsOnUpdate(ctx, obj, old)
}
