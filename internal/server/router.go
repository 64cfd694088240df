package server

import (
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/server/flagz"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/statusz"
	"k8s.io/apiserver/pkg/util/compatibility"
	cliflag "k8s.io/component-base/cli/flag"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/prometheus/slis"
)

// componentName is what the server calls itself where components do.
const componentName = "crd-server"

// routes is what is served where.
type routes struct {
	// api serves /api, groups /apis, resources everything below /apis, openAPIV2 and openAPIV3 their paths.
	api, groups, resources, openAPIV2, openAPIV3 http.Handler
	// served lists the paths of groups and versions that custom resources have, for the index at /.
	served func() []string
	health *health
	// flags are shown at /flagz.
	flags cliflag.NamedFlagSets
	// profiling serves /debug, and lets /metrics be reset.
	profiling bool
}

// newRouter returns the handler of the routes. It goes inside of all filters: a request that is given up by the timeout
// filter is worked on further, and the router, were it outside, would have given its routing state to another one.
func newRouter(r *routes) (router http.Handler, paths []string) {
	mux := chi.NewRouter()
	mux.Use(byDecodedPath)
	mux.NotFound(notFound)
	listed := &index{served: r.served}
	handle := func(path string, h http.Handler) {
		listed.paths = append(listed.paths, path)
		mux.Handle(path, h)
	}

	healthz.InstallPathHandler(muxFunc(handle), "/healthz", r.health.live()...)
	healthz.InstallPathHandler(muxFunc(handle), "/livez", r.health.live()...)
	healthz.InstallPathHandler(muxFunc(handle), "/readyz", r.health.ready()...)
	handle("/version", onlyGet(serveVersion()))
	mux.Handle("/version/", onlyGet(serveVersion()))

	handle("/api", r.api)
	mux.Handle("/api/", r.api)
	handle("/apis", r.groups)
	mux.Handle("/apis/", r.groups)
	handle("/openapi/v2", r.openAPIV2)
	handle("/openapi/v3", r.openAPIV3)
	mux.Handle("/openapi/v3/*", r.openAPIV3)

	registerMetrics()
	if r.profiling {
		handle("/metrics", legacyregistry.HandlerWithReset())
		slis.SLIMetricsWithReset{}.Install(muxFunc(handle))
		installProfiling(mux)
	} else {
		handle("/metrics", legacyregistry.Handler())
		slis.SLIMetrics{}.Install(muxFunc(handle))
	}
	flagz.Install(muxFunc(handle), componentName, flagz.NamedFlagSetsReader{FlagSets: r.flags})
	effective := compatibility.DefaultComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent)
	statusz.Install(muxFunc(handle), componentName, statusz.NewRegistry(effective, statusz.WithListedPaths(listed.paths)))
	mux.Handle("/", listed)
	mux.Handle("/index.html", listed)
	router = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if isBelowAPIs(req.URL.Path) { // nearly all requests, and there is nothing to be found out about them
			r.resources.ServeHTTP(w, req)
			return
		}
		mux.ServeHTTP(w, req)
	})
	return router, listed.paths
}

func isBelowAPIs(path string) bool {
	below, ok := strings.CutPrefix(path, "/apis/")
	return ok && below != ""
}

// muxFunc lets a function take the handlers that libraries install.
type muxFunc func(path string, h http.Handler)

// Handle registers h at exactly path.
func (f muxFunc) Handle(path string, h http.Handler) { f(path, h) }

// byDecodedPath makes chi route by the decoded path, as everything else here understands it: an escaped slash is a slash,
// and nothing is cleaned or redirected. Methods are the handlers' business, unknown ones included.
func byDecodedPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		route := chi.RouteContext(req.Context())
		route.RoutePath = req.URL.Path
		route.RouteMethod = http.MethodGet
		next.ServeHTTP(w, req)
	})
}

// index lists the paths served, for whoever may see it.
type index struct {
	paths  []string
	served func() []string
}

func (i *index) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	paths := slices.Concat(i.paths, i.served())
	slices.Sort(paths)
	responsewriters.WriteRawJSON(http.StatusOK, metav1.RootPaths{Paths: slices.Compact(paths)}, w)
}

func serveVersion() http.Handler {
	info := versionInfo()
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		responsewriters.WriteRawJSON(http.StatusOK, info, w)
	})
}

// onlyGet refuses other methods with a Status.
func onlyGet(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodGet && req.Method != http.MethodHead {
			responsewriters.ErrorNegotiated(apierrors.NewGenericServerResponse(http.StatusMethodNotAllowed, req.Method,
				schema.GroupResource{}, "", "", 0, false), codecs, schema.GroupVersion{}, w, req)
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
