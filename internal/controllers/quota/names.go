package quota

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/controllers/quota/evaluators"
	"github.com/crd-server/crd-server/internal/crds"
)

// plural is the name of the resource of quotas.
const plural = "resourcequotas"

// countPrefix begins the name of the count of a resource.
const countPrefix = "count/"

// tracked are the objects of one resource that a quota counts.
type tracked struct {
	evaluator quotav1.Evaluator
	// names are those in the quota that the objects may use.
	names []corev1.ResourceName
	// folder has the objects; empty if the resource is not served.
	folder string
	// codec decodes the objects; nil if it is enough to count them.
	codec *builtin.Codec
}

// names finds the resources that are served now.
type names struct {
	table *crds.Table
	set   *builtin.Set
	// builtins are the built-in resources that can be counted, by "<plural>" or "<plural>.<group>".
	builtins map[string]*resource.Definition
}

func newNames(table *crds.Table, set *builtin.Set) names {
	n := names{table: table, set: set, builtins: map[string]*resource.Definition{}}
	for _, d := range set.Definitions {
		gr := d.GroupVersionResource().GroupResource()
		// These are the verbs of the resources that kube-controller-manager counts.
		if d.Namespaced && d.HasVerbs("create", "list", "watch", "delete") && evaluators.For(gr) != nil {
			n.builtins[gr.String()] = d
		}
	}
	return n
}

// tracked returns the resources whose objects use what a quota limits. Names of resources that are not served are
// without one, unless kube-apiserver always has the resource: then nothing uses them.
func (n names) tracked(hard corev1.ResourceList) (found []tracked) {
	all := slices.Sorted(maps.Keys(hard))
	other := sets.New(all...)
	for _, e := range evaluators.Named {
		t := tracked{evaluator: e, names: e.MatchingResources(all)}
		if len(t.names) == 0 {
			continue
		}
		other.Delete(t.names...)
		if d := n.builtins[e.GroupResource().String()]; d != nil {
			t.folder = d.StorageFolder()
			if !evaluators.OnlyCounts(e) {
				t.codec = n.set.Codec(d)
			}
		}
		found = append(found, t)
	}
	for _, name := range sets.List(other) {
		if gr, folder, ok := n.counted(name); ok {
			found = append(found, tracked{
				evaluator: evaluators.For(gr), names: []corev1.ResourceName{name}, folder: folder,
			})
		}
	}
	return found
}

// counted returns the resource whose objects a name counts, and their folder; false if no such resource is served.
func (n names) counted(name corev1.ResourceName) (gr schema.GroupResource, folder string, ok bool) {
	counted, ok := strings.CutPrefix(string(name), countPrefix)
	if !ok {
		return gr, "", false
	}
	if d := n.builtins[counted]; d != nil {
		return d.GroupVersionResource().GroupResource(), d.StorageFolder(), true
	}
	record, ok := n.table.Get(counted)
	if !ok || !record.Namespaced || !record.Established {
		return gr, "", false
	}
	return schema.GroupResource{Group: record.Group, Resource: record.Names.Plural},
		record.Group + "/" + record.Names.Plural, true
}
