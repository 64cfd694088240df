package crdhandler

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"

	"github.com/crd-server/crd-server/internal/crdhandler/schemas"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/managedfields"
)

// infos holds the crdInfo of every CRD that was requested, by UID.
type infos struct {
	config *Config
	cache  *schemas.Cache
	byUID  sync.Map // types.UID -> *crdInfo
}

// of returns the crdInfo of a CRD. It builds one when there is none for this spec and these accepted names.
// errCRDGone: the CRD is no longer in the table.
func (i *infos) of(record *crds.Record) (*crdInfo, error) {
	if known, ok := i.byUID.Load(record.UID); ok {
		if info := known.(*crdInfo); info.serves(record) {
			return info, nil
		}
	}
	info, err := newCRDInfo(i.config, i.cache, record)
	if err != nil {
		return nil, err
	}
	for {
		known, loaded := i.byUID.LoadOrStore(record.UID, info)
		if !loaded {
			break
		}
		current := known.(*crdInfo)
		if current.serves(record) {
			return current, nil
		}
		if i.byUID.CompareAndSwap(record.UID, known, info) {
			current.retire()
			break
		}
	}
	if !i.dropIfStale(record.Name, info) {
		return nil, errCRDGone
	}
	return info, nil
}

// errCRDGone: the CRD was deleted a moment ago. A crdInfo made now would never be retired.
var errCRDGone = fmt.Errorf("CustomResourceDefinition: %w", dynamicstorage.ErrClosed)

// dropIfStale retires an info that was stored while its CRD changed: changed found nothing to retire then. It returns
// false if the CRD does not exist any more.
func (i *infos) dropIfStale(name string, info *crdInfo) bool {
	record, ok := i.config.Table.Get(name)
	if ok && record.UID == info.uid && (record.SpecHash == info.specHash || record.Revision < info.revision) {
		return true
	}
	i.retire(info.uid, info)
	return ok
}

// changed handles a change of the table. It retires a crdInfo that is out of date, which ends its watches. The next
// request builds a new one (R5).
func (i *infos) changed(old, current *crds.Record) {
	if old == nil {
		return
	}
	if current != nil && current.UID == old.UID && current.SpecHash == old.SpecHash {
		return
	}
	if known, ok := i.byUID.Load(old.UID); ok {
		info := known.(*crdInfo)
		if current != nil && current.UID == old.UID && info.specHash == current.SpecHash {
			return
		}
		i.retire(old.UID, info)
	}
}

func (i *infos) retire(uid types.UID, info *crdInfo) {
	if i.byUID.CompareAndDelete(uid, info) {
		info.retire()
	}
}

// crdInfo is the state needed to serve one CRD: for each version, its objects and request scopes. Schemas are
// compiled when a request needs them.
type crdInfo struct {
	uid            types.UID
	revision       int64
	specHash       string
	storageVersion string
	resource       *dynamicstorage.Resource
	versions       map[string]*servedVersion

	// equivalents and statusResetFields describe all versions. The versions share them: a copy for each version would
	// make the memory of a CRD quadratic in the number of its versions.
	equivalents       runtime.EquivalentResourceMapper
	statusResetFields func() (managedfields.ResetFields, error)

	// schemas holds the compiled schemas of the CRD while the cache keeps them.
	schemas *schemas.Cached
	// replaced ends when retire calls replace.
	replaced   context.Context
	replace    context.CancelFunc
	retireOnce sync.Once
}

// servedVersion is one version of a CRD.
type servedVersion struct {
	// served is false for a storage version that clients cannot request.
	served  bool
	objects *stored.Objects
	main    *requestScope
	// status and scale are nil where the version does not declare the subresource.
	status, scale *requestScope
	// warnings are sent with every answer of a deprecated version (R7).
	warnings []string
}

// newCRDInfo returns the serving state of a CRD. It compiles nothing.
func newCRDInfo(config *Config, cache *schemas.Cache, record *crds.Record) (*crdInfo, error) {
	names := record.AcceptedNames
	if names.Plural == "" || names.Singular == "" || names.Kind == "" || names.ListKind == "" {
		return nil, fmt.Errorf("status.acceptedNames of CustomResourceDefinition %s are not complete", record.Name)
	}
	info := &crdInfo{
		uid:            record.UID,
		revision:       record.Revision,
		specHash:       record.SpecHash,
		storageVersion: record.StorageVersion(),
		resource:       config.Store.Resource(record.Group, record.AcceptedNames.Plural),
		versions:       map[string]*servedVersion{},
		equivalents:    equivalentResources(record),
	}
	info.statusResetFields = sync.OnceValues(info.computeStatusResetFields)
	info.replaced, info.replace = context.WithCancel(context.Background())
	info.schemas = cache.Add(func() (*schemas.Compiled, error) { return schemas.Compile(config.Converters, record) })
	for n := range record.Versions {
		if v := &record.Versions[n]; v.Served || v.Storage {
			info.versions[v.Name] = newServedVersion(config, record, info, v)
		}
	}
	return info, nil
}

// serves reports whether the info is as new as a record of its CRD. An info that was made while the resource of an
// older CRD of the same name was being retired may hold that resource.
func (i *crdInfo) serves(record *crds.Record) bool {
	return (i.specHash == record.SpecHash || i.revision >= record.Revision) && !i.resource.Retired()
}

// computeStatusResetFields returns the fields that a write of the status does not own, in all versions that have the
// subresource: managed fields of any of them may be found in an object.
func (i *crdInfo) computeStatusResetFields() (managedfields.ResetFields, error) {
	compiled, err := i.schemas.Get()
	if err != nil {
		return nil, err
	}
	return compiled.Set.StatusResetFields(), nil
}

// retire ends the watches of the CRD, and releases its views and compiled schemas.
func (i *crdInfo) retire() {
	i.retireOnce.Do(func() {
		i.replace()
		i.schemas.Retire()
		for _, v := range i.versions {
			v.objects.Viewer.Close()
		}
	})
}

// deprecationWarnings returns the warnings for requests to a version of a CRD (R7).
func deprecationWarnings(record *crds.Record, v *crds.Version) []string {
	switch {
	case !v.Deprecated:
		return nil
	case v.DeprecationWarning != "":
		return []string{v.DeprecationWarning}
	}
	gv := func(name string) string { return schema.GroupVersion{Group: record.Group, Version: name}.String() }
	text := fmt.Sprintf("%s %s is deprecated", gv(v.Name), record.Names.Kind)
	best := ""
	for _, other := range record.Versions {
		newer := other.Served && !other.Deprecated && version.CompareKubeAwareVersionStrings(v.Name, other.Name) < 0
		if newer && (best == "" || version.CompareKubeAwareVersionStrings(other.Name, best) > 0) {
			best = other.Name
		}
	}
	if best != "" {
		text += fmt.Sprintf("; use %s %s", gv(best), record.Names.Kind)
	}
	return []string{text}
}
