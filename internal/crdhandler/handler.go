package crdhandler

import (
	"errors"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/crdhandler/schemas"
	"github.com/crd-server/crd-server/internal/crdhandler/watch"
	"github.com/crd-server/crd-server/internal/crds"
)

// crdHandler serves everything below /apis and /api/v1: the custom resources of every CRD in the table of served
// resources, CRDs themselves, and built-in resources. All other requests go to the delegate.
type crdHandler struct {
	config   *Config
	infos    infos
	builtins map[schema.GroupVersionResource]*builtinEndpoints
	// builtinGroups are the groups of builtins, and of reviews.
	builtinGroups sets.Set[string]
}

var _ http.Handler = &crdHandler{}

// defaultMaxRequestBodyBytes is the limit of kube-apiserver.
const defaultMaxRequestBodyBytes = 3 << 20

// New returns the handler for /apis and /api/v1. It starts no goroutines, but the first watch starts one that ends when
// the server shuts down.
func New(config Config) (*crdHandler, error) {
	if config.MaxRequestBodyBytes == 0 {
		config.MaxRequestBodyBytes = defaultMaxRequestBodyBytes
	}
	config.shutdown = &watch.Shutdown{}
	h := &crdHandler{config: &config}
	h.builtins = newBuiltins(h.config)
	h.builtinGroups = sets.New(authenticationv1.GroupName, authorizationv1.GroupName) // of reviews
	for resource := range h.builtins {
		h.builtinGroups.Insert(resource.Group)
	}
	h.infos.config, h.infos.cache = h.config, schemas.NewCache(config.SchemaCacheBytes)
	config.Table.OnChange(h.infos.changed)
	return h, nil
}

// SchemaCache collects the metrics of the compiled schemas.
func (h *crdHandler) SchemaCache() prometheus.Collector { return h.infos.cache }

// acrossNamespaces are the verbs that may omit the namespace of a namespaced resource.
var acrossNamespaces = sets.New("list", "watch")

// ServeHTTP dispatches a request: discovery of a group or version, a built-in resource, a custom resource, or the
// delegate (R1, R2).
func (h *crdHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	info, ok := request.RequestInfoFrom(req.Context())
	if !ok {
		internalError(errors.New("no RequestInfo found in the context"), w, req, schema.GroupVersion{})
		return
	}
	if !info.IsResourceRequest {
		h.serveDiscovery(w, req, info)
		return
	}
	if builtin := h.builtin(info); builtin != nil {
		builtin.serve(w, req, info)
		return
	}
	h.serveCustomResource(w, req, info)
}

// builtin returns the endpoints of the resource that a request is about; nil if it does not ship with the server.
func (h *crdHandler) builtin(info *request.RequestInfo) *builtinEndpoints {
	gvr := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
	return h.builtins[gvr]
}

func (h *crdHandler) serveDiscovery(w http.ResponseWriter, req *http.Request, info *request.RequestInfo) {
	switch len(strings.Split(strings.Trim(info.Path, "/"), "/")) {
	case 2:
		h.config.GroupDiscovery.ServeHTTP(w, req)
	case 3:
		h.config.VersionDiscovery.ServeHTTP(w, req)
	default:
		h.config.Delegate.ServeHTTP(w, req)
	}
}

// serveCustomResource finds the CRD of a request, and calls the handler of the verb. Requests that the CRD does not
// serve go to the delegate.
func (h *crdHandler) serveCustomResource(w http.ResponseWriter, req *http.Request, info *request.RequestInfo) {
	record, ok := h.config.Table.Get(info.Resource + "." + info.APIGroup)
	if !ok || !h.addresses(record, info) {
		h.config.Delegate.ServeHTTP(w, req)
		return
	}
	gv := schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}
	crdInfo, err := h.infos.of(record)
	if errors.Is(err, errCRDGone) {
		h.config.Delegate.ServeHTTP(w, req)
		return
	}
	if err != nil {
		klog.FromContext(req.Context()).Error(err, "Custom resource cannot be served",
			"customResourceDefinition", record.Name)
		internalError(errors.New("error resolving resource"), w, req, gv)
		return
	}
	version := crdInfo.versions[info.APIVersion]
	if version == nil || !version.served { // the crdInfo is newer than the record: the version was served a moment ago
		h.config.Delegate.ServeHTTP(w, req)
		return
	}
	for _, text := range version.warnings {
		warning.AddWarning(req.Context(), "", text)
	}
	var handle http.HandlerFunc
	switch {
	case info.Subresource == "":
		handle = version.main.verb(info.Verb, record.Terminating)
	case info.Subresource == "status" && version.status != nil:
		handle = version.status.subresourceVerb(info.Verb)
	case info.Subresource == "scale" && version.scale != nil:
		handle = version.scale.subresourceVerb(info.Verb)
	default:
		gr := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
		version.main.err(apierrors.NewNotFound(gr, info.Name), w, req)
		return
	}
	defer crdInfo.schemas.UpdateSize() // the request may compile parts of them
	instrumented(handle, info, len(version.warnings) > 0)(w, req)
}

// Serves reports whether a request is about a resource that exists, or one of its subresources.
func (h *crdHandler) Serves(info *request.RequestInfo) bool {
	if builtin := h.builtin(info); builtin != nil {
		return info.Subresource == "" || builtin.subresources[info.Subresource] != nil
	}
	record, ok := h.config.Table.Get(info.Resource + "." + info.APIGroup)
	if !ok || !h.addresses(record, info) {
		return false
	}
	switch info.Subresource {
	case "", "status", "scale":
		return true
	}
	return false
}

// addresses reports whether the CRD serves the scope and version of a request (R2). A CRD in a built-in group serves
// nothing: in kube-apiserver, requests for these groups never reach custom resources.
func (h *crdHandler) addresses(record *crds.Record, info *request.RequestInfo) bool {
	if h.builtinGroups.Has(record.Group) {
		return false
	}
	if info.Namespace != "" && !record.Namespaced {
		return false
	}
	if info.Namespace == "" && record.Namespaced && !acrossNamespaces.Has(info.Verb) {
		return false
	}
	version := record.Version(info.APIVersion)
	return version != nil && version.Served && (record.NamesAccepted || record.Established)
}

// verb returns the handler of a verb on a main resource. terminating forbids new objects (R4).
func (s *requestScope) verb(verb string, terminating bool) http.HandlerFunc {
	if s.action != nil {
		return s.act // definitions allow no other verb
	}
	if s.connect != nil {
		return s.connectTo
	}
	switch verb {
	case "list", "watch":
		return func(w http.ResponseWriter, req *http.Request) { s.list(w, req, verb == "watch") }
	case "create":
		return func(w http.ResponseWriter, req *http.Request) { s.create(w, req, terminating) }
	case "patch":
		return func(w http.ResponseWriter, req *http.Request) { s.patch(w, req, terminating) }
	case "delete":
		return s.delete
	case "deletecollection":
		return s.deleteCollection
	default:
		return s.subresourceVerb(verb)
	}
}

// subresourceVerb returns the handler of a verb on a subresource: get, update and patch only (R3).
func (s *requestScope) subresourceVerb(verb string) http.HandlerFunc {
	switch verb {
	case "get":
		return s.get
	case "update":
		return s.update
	case "patch":
		return func(w http.ResponseWriter, req *http.Request) { s.patch(w, req, false) }
	default:
		return func(w http.ResponseWriter, req *http.Request) {
			s.err(apierrors.NewMethodNotSupported(s.Resource.GroupResource(), verb), w, req)
		}
	}
}

func internalError(err error, w http.ResponseWriter, req *http.Request, gv schema.GroupVersion) {
	responsewriters.ErrorNegotiated(apierrors.NewInternalError(err), crds.Codecs, gv, w, req)
}

// instrumented wraps a verb in upstream's request metrics.
func instrumented(handle http.HandlerFunc, info *request.RequestInfo, deprecated bool) http.HandlerFunc {
	measured := metrics.InstrumentHandlerFunc(strings.ToUpper(info.Verb), info.APIGroup, info.APIVersion, info.Resource,
		info.Subresource, metrics.CleanScope(info), metrics.APIServerComponent, deprecated, "", handle)
	if info.Verb != "watch" && info.Verb != connectVerb {
		return measured
	}
	return func(w http.ResponseWriter, req *http.Request) {
		metrics.RecordLongRunning(req, info, metrics.APIServerComponent, func() { measured(w, req) })
	}
}
