package quota

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crds"
)

// plural is the name of the resource of quotas.
const plural = "resourcequotas"

// countPrefix begins the name of the count of a resource.
const countPrefix = "count/"

// aliases are resources of the core group that quotas may also count by their plurals alone.
var aliases = []corev1.ResourceName{
	corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims, corev1.ResourcePods, corev1.ResourceQuotas,
	corev1.ResourceReplicationControllers, corev1.ResourceSecrets, corev1.ResourceServices,
}

// evaluatorOf returns the evaluator that counts the objects of a resource; nil if quotas do not count them.
func evaluatorOf(gr schema.GroupResource) quotav1.Evaluator {
	if gr.Resource == "events" && (gr.Group == "" || gr.Group == "events.k8s.io") {
		return nil
	}
	alias := corev1.ResourceName("")
	if gr.Group == "" && slices.Contains(aliases, corev1.ResourceName(gr.Resource)) {
		alias = corev1.ResourceName(gr.Resource)
	}
	return generic.NewObjectCountEvaluator(gr, nil, alias)
}

// names finds the resources that are served now.
type names struct {
	table *crds.Table
	// folders are those of the built-in resources that can be counted, by "<plural>" or "<plural>.<group>".
	folders map[string]string
}

func newNames(table *crds.Table, definitions []*resource.Definition) names {
	n := names{table: table, folders: map[string]string{}}
	for _, d := range definitions {
		gr := d.GroupVersionResource().GroupResource()
		if d.Namespaced && countable(d) && evaluatorOf(gr) != nil {
			n.folders[gr.String()] = d.StorageFolder()
		}
	}
	return n
}

// countable reports whether a resource has the verbs of those that kube-controller-manager counts.
func countable(d *resource.Definition) bool {
	verbs := d.VerbList()
	return !slices.ContainsFunc([]string{"create", "list", "watch", "delete"}, func(verb string) bool {
		return !slices.Contains(verbs, verb)
	})
}

// folder returns the folder of the objects that a name in a quota counts; false if no such resource is served.
func (n names) folder(name corev1.ResourceName) (string, bool) {
	counted, ok := strings.CutPrefix(string(name), countPrefix)
	if !ok {
		if !slices.Contains(aliases, name) {
			return "", false
		}
		counted = string(name)
	}
	if folder, ok := n.folders[counted]; ok {
		return folder, true
	}
	record, ok := n.table.Get(counted)
	if !ok || !record.Namespaced || !record.Established {
		return "", false
	}
	return record.Group + "/" + record.Names.Plural, true
}
