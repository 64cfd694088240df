package server

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/crds"
)

// servedVersions returns the groups and versions that discovery shows because of CRDs. Those of several CRDs repeat.
func servedVersions(table *crds.Table) []schema.GroupVersion {
	var all []schema.GroupVersion
	for record := range table.All() {
		all = slices.AppendSeq(all, servedBy(record))
	}
	return all
}

// servesVersion reports whether a group and version is one of them.
func servesVersion(table *crds.Table, version schema.GroupVersion) bool {
	for record := range table.Group(version.Group) {
		if slices.Contains(slices.Collect(servedBy(record)), version) {
			return true
		}
	}
	return false
}

// onVersionsChange calls changed with the versions of a CRD before and after each change of it.
func onVersionsChange(table *crds.Table, changed func(versions ...schema.GroupVersion)) {
	table.OnChange(func(old, current *crds.Record) {
		changed(slices.AppendSeq(slices.Collect(servedBy(old)), servedBy(current))...)
	})
}

// servedBy yields the groups and versions that discovery shows because of a CRD, which may be nil.
func servedBy(record *crds.Record) iter.Seq[schema.GroupVersion] {
	return func(yield func(schema.GroupVersion) bool) {
		if record == nil || !record.Established || record.Group == crds.GroupName {
			return
		}
		for n := range record.Versions {
			v := &record.Versions[n]
			if v.Served && !yield(schema.GroupVersion{Group: record.Group, Version: v.Name}) {
				return
			}
		}
	}
}
