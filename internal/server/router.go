package server

import (
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/server/flagz"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/statusz"
	"k8s.io/apiserver/pkg/util/compatibility"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/metrics/prometheus/slis"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/server/metrics"
)

// routes has the handlers of all paths.
type routes struct {
	*resourceHandlers
	options *ValidOptions
	// documents has the handlers of the documents by which others verify tokens of service accounts, by their paths.
	documents map[string]http.Handler
	health    *health
	// metrics gather what is not in the registry of the process: the metrics of the storage, and of an etcd in this
	// process.
	metrics []prometheus.Gatherer
}

// newRouter returns the handler of the routes, and the paths besides resources. It must be inside of all filters: the
// timeout filter abandons handlers that still run, and chi would reuse their routing state if it were outside.
func newRouter(r *routes) (router http.Handler, paths []string, err error) {
	mux := chi.NewRouter()
	mux.Use(byDecodedPath)
	mux.NotFound(notFound)
	listed := &index{served: r.resourceHandlers.paths}
	handle := func(path string, h http.Handler) {
		listed.paths = append(listed.paths, path)
		mux.Handle(path, h)
	}

	healthz.InstallPathHandler(muxFunc(handle), "/healthz", r.health.healthy()...)
	healthz.InstallPathHandler(muxFunc(handle), "/livez", r.health.live()...)
	healthz.InstallPathHandler(muxFunc(handle), "/readyz", r.health.ready()...)
	for _, path := range healthPaths { // a check that does not exist: as plain text, like all answers of checks
		mux.Handle(path+"/*", http.NotFoundHandler())
	}
	info := versionInfo()
	version := onlyGet(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		responsewriters.WriteRawJSON(http.StatusOK, info, w)
	}))
	handle("/version", version)
	mux.Handle("/version/", version)

	handle("/api", r.api)
	mux.Handle("/api/", r.api)
	mux.Handle("/api/v1", r.core)
	mux.Handle("/api/v1/", r.core)
	handle("/apis", r.groups)
	mux.Handle("/apis/", r.groups)
	for path, h := range r.documents {
		handle(path, onlyGet(h))
		mux.Handle(path+"/", onlyGet(h))
	}
	handle("/openapi/v2", r.openAPIV2)
	handle("/openapi/v3", r.openAPIV3)
	mux.Handle("/openapi/v3/*", r.openAPIV3)

	metrics.Register()
	metrics.ShowBuild(info)
	handle("/metrics", metrics.Handler(r.options.Profiling, r.metrics...))
	if r.options.Profiling {
		slis.SLIMetricsWithReset{}.Install(muxFunc(handle))
		installProfiling(mux)
	} else {
		slis.SLIMetrics{}.Install(muxFunc(handle))
	}
	component := r.options.componentName()
	flagz.Install(muxFunc(handle), component, flagz.NamedFlagSetsReader{FlagSets: r.options.flags})
	effective := compatibility.DefaultComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent)
	shown := append(slices.Clone(listed.paths), statusz.DefaultStatuszPath)
	statusz.Install(muxFunc(handle), component, statusz.NewRegistry(effective, statusz.WithListedPaths(shown)))
	mux.Handle("/", listed)
	mux.Handle("/index.html", listed)
	added, err := r.options.Extensions.route(mux)
	if err != nil {
		return nil, nil, err
	}
	listed.paths = append(listed.paths, added...)
	router = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if isBelowVersion(req.URL.Path) { // nearly all requests, and they need no routing
			r.resources.ServeHTTP(w, req)
			return
		}
		mux.ServeHTTP(w, req)
	})
	return router, listed.paths, nil
}

// isBelowVersion reports whether a path is that of a resource, or below /apis.
func isBelowVersion(path string) bool {
	below, ok := strings.CutPrefix(path, "/apis/")
	if !ok {
		below, ok = strings.CutPrefix(path, "/api/v1/")
	}
	return ok && below != ""
}

// muxFunc is a mux for handlers that libraries install.
type muxFunc func(path string, h http.Handler)

// Handle registers h at path.
func (f muxFunc) Handle(path string, h http.Handler) { f(path, h) }

// byDecodedPath makes chi route by the decoded path, like all other handlers: an escaped slash is a slash, and paths
// are neither cleaned nor redirected. The handlers check the methods.
func byDecodedPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		route := chi.RouteContext(req.Context())
		route.RoutePath = req.URL.Path
		route.RouteMethod = http.MethodGet
		next.ServeHTTP(w, req)
	})
}

// index serves the list of paths.
type index struct {
	paths  []string
	served func() []string
}

// ServeHTTP implements http.Handler.
func (i *index) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	paths := slices.Concat(i.paths, i.served())
	slices.Sort(paths)
	responsewriters.WriteRawJSON(http.StatusOK, metav1.RootPaths{Paths: slices.Compact(paths)}, w)
}

// onlyGet refuses methods other than GET and HEAD with a Status.
func onlyGet(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodGet && req.Method != http.MethodHead {
			responsewriters.ErrorNegotiated(apierrors.NewGenericServerResponse(http.StatusMethodNotAllowed, req.Method,
				schema.GroupResource{}, "", "", 0, false), crds.Codecs, schema.GroupVersion{}, w, req)
			return
		}
		h.ServeHTTP(w, req)
	})
}

func installProfiling(router chi.Router) {
	router.Handle("/debug/pprof", http.RedirectHandler("/debug/pprof/", http.StatusFound))
	router.HandleFunc("/debug/pprof/*", pprof.Index)
	router.HandleFunc("/debug/pprof/profile", pprof.Profile)
	router.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	router.HandleFunc("/debug/pprof/trace", pprof.Trace)
	router.HandleFunc("/debug/flags/v", serveVerbosity)
}
