package discovery

import (
	"iter"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/discovery/openapi"
)

// Table is what discovery needs of a crds.Table.
type Table interface {
	// Groups returns the names of all groups that have CRDs, sorted.
	Groups() []string
	// Group returns the CRDs of a group.
	Group(name string) iter.Seq[*crds.Record]
	// HasSynced says whether all CRDs are known.
	HasSynced() bool
	// OnChange registers a function called after the table shows a change.
	OnChange(func(old, new *crds.Record))
}

var _ Table = &crds.Table{}

// Options say how discovery answers.
type Options struct {
	// Delegate answers for groups and versions that nobody serves. Nil: a Status 404.
	Delegate http.Handler
	// Version is the version of the API in OpenAPI documents, such as "v1.37.0".
	Version string
	// Reviews shows the groups of reviews of users and their permissions, which somebody else serves.
	Reviews bool
	// CacheBytes bounds what is kept of OpenAPI documents. Zero: 64 MiB.
	CacheBytes int64
}

// Discovery serves what clients ask to find out what there is. It runs no goroutine of its own.
type Discovery struct {
	table    Table
	delegate http.Handler
	builtin  []*group
	version  string

	groups sync.Map // name -> *groupSlot
	list   atomic.Pointer[groupList]

	api       http.Handler
	apis      http.Handler
	documents *documents
}

// New returns the Discovery of all CRDs in the table, which must not have been started yet.
func New(table Table, options Options) *Discovery {
	d := &Discovery{table: table, delegate: options.Delegate, version: options.Version, builtin: builtinGroups(options.Reviews)}
	if d.delegate == nil {
		d.delegate = http.HandlerFunc(notFound)
	}
	d.list.Store(&groupList{source: d})
	d.api = aggregatedOr(http.HandlerFunc(serveAPIVersions), noGroups)
	d.apis = aggregatedOr(http.HandlerFunc(d.serveGroupList), d.currentList)
	d.documents = newDocuments(d, openapi.NewStatic(options.Version), options)
	table.OnChange(d.forget)
	return d
}

// forget gives up what depends on a CRD.
func (d *Discovery) forget(old, record *crds.Record) {
	if record != nil && shown(old) == shown(record) {
		return
	}
	switch {
	case old != nil && record != nil && old.Group != record.Group:
		d.changeGroup(old.Group, old, nil)
		d.changeGroup(record.Group, nil, record)
	case record != nil:
		d.changeGroup(record.Group, old, record)
	default:
		d.changeGroup(old.Group, old, nil)
	}
	// Groups first: whoever finds the new list must not put old groups into it.
	d.list.Store(&groupList{source: d})
	d.documents.forget(old)
}

// changeGroup has a group made anew when it is next asked for; one of the two may be nil.
func (d *Discovery) changeGroup(name string, old, record *crds.Record) {
	found, ok := d.groups.Load(name)
	if !ok {
		return // whoever makes it sees the change in the table
	}
	if after := found.(*groupSlot).after(old, record); after != nil {
		d.groups.Store(name, after)
	} else {
		d.groups.Delete(name)
	}
}

// shown stands for everything clients are told about a CRD; it is empty for one they are not told about.
func shown(r *crds.Record) string {
	switch {
	case r == nil || !r.Established:
		return ""
	case r.Terminating:
		return r.SpecHash + " terminating"
	}
	return r.SpecHash
}

// group returns what is served of a group of custom resources, nil if nothing is.
func (d *Discovery) group(name string) *group {
	if g := d.builtinGroup(name); g != nil {
		return g
	}
	found, ok := d.groups.Load(name)
	if !ok {
		if isEmpty(d.table.Group(name)) {
			return nil // no place is made for names that somebody only asked for
		}
		found, _ = d.groups.LoadOrStore(name, &groupSlot{})
	}
	return found.(*groupSlot).group(name, d.table)
}

func isEmpty(records iter.Seq[*crds.Record]) bool {
	for range records {
		return false
	}
	return true
}

// builtinGroup returns a group that is not of custom resources; nil if there is none of that name.
func (d *Discovery) builtinGroup(name string) *group {
	for _, g := range d.builtin {
		if g.name == name {
			return g
		}
	}
	return nil
}

// API returns the handler of /api. There are no core resources.
func (d *Discovery) API() http.Handler { return d.api }

// APIs returns the handler of /apis: the list of groups, or everything at once.
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
	for _, g := range d.currentList().all() {
		paths = append(paths, "/apis/"+g.name)
		for _, version := range g.versions {
			paths = append(paths, "/apis/"+g.name+"/"+version)
		}
	}
	return paths
}
