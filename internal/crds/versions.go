package crds

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ServedVersions yields the groups and versions that discovery shows because of a CRD, which may be nil.
func (r *Record) ServedVersions() iter.Seq[schema.GroupVersion] {
	return func(yield func(schema.GroupVersion) bool) {
		if r == nil || !r.Established || r.Group == GroupName {
			return
		}
		for n := range r.Versions {
			v := &r.Versions[n]
			if v.Served && !yield(schema.GroupVersion{Group: r.Group, Version: v.Name}) {
				return
			}
		}
	}
}

// ServedVersions returns the groups and versions that discovery shows because of CRDs. Those of several CRDs repeat.
func (t *Table) ServedVersions() (all []schema.GroupVersion) {
	for record := range t.All() {
		all = slices.AppendSeq(all, record.ServedVersions())
	}
	return all
}

// ServesVersion reports whether a group and version is one of ServedVersions.
func (t *Table) ServesVersion(version schema.GroupVersion) bool {
	for record := range t.Group(version.Group) {
		if slices.Contains(slices.Collect(record.ServedVersions()), version) {
			return true
		}
	}
	return false
}

// OnVersionsChange calls changed with the versions of a CRD before and after each change of it.
func (t *Table) OnVersionsChange(changed func(versions ...schema.GroupVersion)) {
	t.OnChange(func(old, current *Record) {
		changed(slices.AppendSeq(slices.Collect(old.ServedVersions()), current.ServedVersions())...)
	})
}
