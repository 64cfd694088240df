package discovery

import (
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"

	"github.com/crd-server/crd-server/internal/crds"
)

// retryAfterSeconds is sent to clients while the server starts.
const retryAfterSeconds = 1

// serveGroup serves /apis/{group}.
func (d *Discovery) serveGroup(w http.ResponseWriter, req *http.Request) {
	d.serveBelow(w, req, 2, func(g *group, _ []string) runtime.Object { return g.legacy() })
}

// serveVersion serves /apis/{group}/{version}.
func (d *Discovery) serveVersion(w http.ResponseWriter, req *http.Request) {
	d.serveBelow(w, req, 3, func(g *group, path []string) runtime.Object {
		if !slices.Contains(g.versions, path[2]) || g.builtin != nil && g.builtin[path[2]] == nil {
			return nil
		}
		return g.resourceList(path[2])
	})
}

// serveBelow serves a path that has a number of segments and begins with a group. If the group is unknown or describe
// returns nil, the delegate serves it.
func (d *Discovery) serveBelow(w http.ResponseWriter, req *http.Request, segments int,
	describe func(g *group, path []string) runtime.Object) {
	path := split(req.URL.Path)
	if len(path) != segments {
		d.delegate.ServeHTTP(w, req)
		return
	}
	if !d.knows(path[1]) {
		unavailable(w, req)
		return
	}
	var described runtime.Object
	g := d.group(path[1])
	if g != nil {
		described = describe(g, path)
	}
	switch {
	case described == nil:
		d.delegate.ServeHTTP(w, req)
	case g.builtin != nil && req.Method != http.MethodGet: // upstream does not check the methods at custom resources (O1)
		methodNotAllowed(w, req)
	default:
		write(w, req, crds.Codecs, described)
	}
}

// serveGroupList serves /apis to clients that do not ask for the aggregated list.
func (d *Discovery) serveGroupList(w http.ResponseWriter, req *http.Request) {
	write(w, req, crds.Codecs, d.current.Load().legacy())
}

// serveAPI serves /api in the form that the client asks for.
func (d *Discovery) serveAPI(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodGet {
		methodNotAllowed(w, req)
		return
	}
	d.api.ServeHTTP(w, req)
}

// serveAPIVersions serves /api to clients that do not ask for the aggregated list.
func (d *Discovery) serveAPIVersions(w http.ResponseWriter, req *http.Request) {
	versions := []string{}
	for _, g := range d.core {
		versions = append(versions, g.versions...)
	}
	write(w, req, verbatim{crds.Codecs}, &metav1.APIVersions{
		// Since Kubernetes 1.1 this response has no apiVersion.
		TypeMeta: metav1.TypeMeta{Kind: "APIVersions"},
		Versions: versions,
		ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{
			{ClientCIDR: "0.0.0.0/0", ServerAddress: req.Host},
		},
	})
}

// serveCoreVersion serves /api/v1.
func (d *Discovery) serveCoreVersion(w http.ResponseWriter, req *http.Request) {
	if len(d.core) == 0 {
		d.delegate.ServeHTTP(w, req)
		return
	}
	if req.Method != http.MethodGet {
		methodNotAllowed(w, req)
		return
	}
	list := d.core[0].resourceList(d.core[0].versions[0])
	list.Kind = "APIResourceList" // like that of /api, this response has no apiVersion
	write(w, req, verbatim{crds.Codecs}, list)
}

func methodNotAllowed(w http.ResponseWriter, req *http.Request) {
	fail(w, req, apierrors.NewGenericServerResponse(http.StatusMethodNotAllowed, req.Method, schema.GroupResource{},
		"", "", 0, false))
}

// verbatim encodes objects with the kind and version they carry.
type verbatim struct{ runtime.NegotiatedSerializer }

// EncoderForVersion returns the encoder as it is.
func (verbatim) EncoderForVersion(encoder runtime.Encoder, _ runtime.GroupVersioner) runtime.Encoder {
	return encoder
}

func split(path string) []string { return strings.Split(strings.Trim(path, "/"), "/") }

func write(w http.ResponseWriter, req *http.Request, codecs runtime.NegotiatedSerializer, object runtime.Object) {
	responsewriters.WriteObjectNegotiated(codecs, negotiation.DefaultEndpointRestrictions, schema.GroupVersion{}, w, req,
		http.StatusOK, object, false)
}

func fail(w http.ResponseWriter, req *http.Request, err error) {
	responsewriters.ErrorNegotiated(err, crds.Codecs, schema.GroupVersion{}, w, req)
}

func notFound(w http.ResponseWriter, req *http.Request) {
	fail(w, req, apierrors.NewGenericServerResponse(http.StatusNotFound, req.Method, schema.GroupResource{}, "", "", 0,
		false))
}

// synced refuses requests until all CRDs are known. Clients, such as garbage collectors, would take an incomplete list
// for a complete one.
func (d *Discovery) synced(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !d.table.HasSynced() {
			unavailable(w, req)
			return
		}
		next.ServeHTTP(w, req)
	})
}

// knows says whether discovery knows all resources of the group.
func (d *Discovery) knows(group string) bool {
	return d.builtinGroup(group) != nil || d.table.HasSynced()
}

func unavailable(w http.ResponseWriter, req *http.Request) {
	err := apierrors.NewServiceUnavailable("the server is starting and does not know all resources yet, please try again")
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfterSeconds}
	fail(w, req, err)
}
