package discovery

import (
	"iter"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	builtin "github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crds"
)

// Table has the methods of crds.Table that discovery needs.
type Table interface {
	// Groups returns the names of all groups that have CRDs, sorted.
	Groups() []string
	// Group returns the CRDs of a group.
	Group(name string) iter.Seq[*crds.Record]
	// HasSynced says whether the table shows all CRDs.
	HasSynced() bool
	// OnChange registers a function called after the table shows a change.
	OnChange(func(old, new *crds.Record))
}

var _ Table = &crds.Table{}

// Options configure Discovery.
type Options struct {
	// Delegate serves groups and versions that have no CRD. Nil: a Status 404.
	Delegate http.Handler
	// Version is the version of the API in OpenAPI documents, such as "v1.37.0".
	Version string
	// Reviews lists the groups of reviews, and describes them in OpenAPI. Their own paths are served in any case, because
	// package access/reviews answers reviews.
	Reviews bool
	// Core lists core/v1, also without resources. kubectl takes the kind List from there.
	Core bool
	// Builtin are the built-in resources.
	Builtin []*builtin.Definition
	// MaxSections bounds the number of sections of OpenAPI documents that are kept, about 5 KB each. Zero: 16,384.
	MaxSections int
}

// Discovery serves the endpoints with which clients find out what a server serves. It starts no goroutine.
type Discovery struct {
	table    Table
	delegate http.Handler
	// builtin are the groups that are not of custom resources, listed those of them in the list of groups.
	builtin, listed []*group
	// core is the groups at /api: core/v1, or none.
	core    []*group
	version string

	// current is replaced, never changed: a reader that computes from older CRDs fills only the snapshot that it began
	// with.
	current atomic.Pointer[snapshot]

	api       http.Handler
	apis      http.Handler
	documents *documents
}

// New returns the Discovery of all CRDs in the table, which must not have been started yet.
func New(table Table, options Options) *Discovery {
	d := &Discovery{table: table, delegate: options.Delegate, version: options.Version, builtin: builtinGroups(options)}
	if d.delegate == nil {
		d.delegate = http.HandlerFunc(notFound)
	}
	if i := slices.IndexFunc(d.builtin, func(g *group) bool { return g.name == "" }); i >= 0 {
		d.core = []*group{d.builtin[i]}
		d.builtin = slices.Delete(d.builtin, i, i+1)
	}
	d.listed = options.listed(d.builtin)
	d.documents = newDocuments(d, options)
	d.current.Store(d.newSnapshot())
	d.api = aggregatedOr(http.HandlerFunc(d.serveAPIVersions),
		sync.OnceValues(func() (*aggregatedList, error) { return newAggregatedList(d.core) }))
	d.apis = aggregatedOr(http.HandlerFunc(d.serveGroupList),
		func() (*aggregatedList, error) { return d.current.Load().aggregated() })
	table.OnChange(d.forget)
	return d
}

// forget drops the results that depend on a CRD. One of the two records may be nil.
func (d *Discovery) forget(old, record *crds.Record) {
	if record != nil && shown(old) == shown(record) {
		return
	}
	d.current.Store(d.newSnapshot())
	if old != nil {
		d.documents.sections.forget(old)
	}
}

// shown identifies everything that clients can see of a CRD. It is empty if they see nothing.
func shown(r *crds.Record) string {
	switch {
	case r == nil || !r.Established:
		return ""
	case r.Terminating:
		return r.SpecHash + " terminating"
	}
	return r.SpecHash
}

// group returns what is served of a group, or nil.
func (d *Discovery) group(name string) *group {
	if g := d.builtinGroup(name); g != nil {
		return d.withCustom(g)
	}
	return newGroup(name, d.table.Group(name))
}

// withCustom returns a built-in group with the versions that CRDs add to it.
func (d *Discovery) withCustom(g *group) *group {
	return g.with(newGroup(g.name, d.table.Group(g.name)))
}

// builtinGroup returns a group that is not of custom resources, or nil.
func (d *Discovery) builtinGroup(name string) *group {
	for _, g := range d.builtin {
		if g.name == name {
			return g
		}
	}
	return nil
}

// API returns the handler of /api.
func (d *Discovery) API() http.Handler { return http.HandlerFunc(d.serveAPI) }

// CoreVersion returns the handler of /api/v1.
func (d *Discovery) CoreVersion() http.Handler { return http.HandlerFunc(d.serveCoreVersion) }

// APIs returns the handler of /apis: the list of groups, or the aggregated list.
func (d *Discovery) APIs() http.Handler { return d.synced(d.apis) }

// Group returns the handler of /apis/{group}.
func (d *Discovery) Group() http.Handler { return http.HandlerFunc(d.serveGroup) }

// Version returns the handler of /apis/{group}/{version}.
func (d *Discovery) Version() http.Handler { return http.HandlerFunc(d.serveVersion) }

// OpenAPIV2 returns the handler of /openapi/v2.
func (d *Discovery) OpenAPIV2() http.Handler { return d.synced(http.HandlerFunc(d.documents.serveV2)) }

// OpenAPIV3 returns the handler of /openapi/v3 and everything below it.
func (d *Discovery) OpenAPIV3() http.Handler { return http.HandlerFunc(d.documents.serveV3) }

// Paths returns the paths of all groups and versions, for an index of the server.
func (d *Discovery) Paths() []string {
	var paths []string
	for _, g := range d.core {
		paths = append(paths, "/api/"+g.versions[0])
	}
	for _, g := range d.current.Load().groups() {
		paths = append(paths, "/apis/"+g.name)
		for _, version := range g.versions {
			paths = append(paths, "/apis/"+g.name+"/"+version)
		}
	}
	return paths
}
