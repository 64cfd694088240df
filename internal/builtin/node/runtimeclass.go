package node

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the resources of the package.
func Definitions() []*resource.Definition {
	return []*resource.Definition{{
		GroupVersion: nodev1.SchemeGroupVersion, Kind: "RuntimeClass", Plural: "runtimeclasses",
		Singular: "runtimeclass", Object: &nodev1.RuntimeClass{}, List: &nodev1.RuntimeClassList{},
		Columns: columns, Upgrade: upgrade,
		Strategy: resource.Typed[*nodev1.RuntimeClass]{
			Check: check, Warn: warnings,
			CheckUpdate: func(obj, old *nodev1.RuntimeClass) field.ErrorList {
				errs := resource.CheckConstant(field.NewPath("handler"), obj.Handler, old.Handler)
				errs = append(errs, check(obj)...)
				return append(errs, resource.CheckMetadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)...)
			},
			WarnUpdate: func(obj, _ *nodev1.RuntimeClass) []string { return warnings(obj) },

			CreatesOnUpdate: true, RequiresVersion: true,
		},
	}}
}

func check(obj *nodev1.RuntimeClass) field.ErrorList {
	errs := resource.CheckClusterMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	if path := field.NewPath("handler"); obj.Handler == "" {
		errs = append(errs, resource.Missing(path))
	} else {
		errs = append(errs, resource.CheckValue(path, obj.Handler, validation.IsDNS1123Label)...)
	}
	if obj.Overhead != nil {
		path := field.NewPath("overhead", "limits")
		for _, name := range slices.Sorted(maps.Keys(obj.Overhead.PodFixed)) {
			if quantity := obj.Overhead.PodFixed[name]; quantity.Sign() < 0 {
				errs = append(errs, field.Invalid(path.Key(string(name)), quantity.String(), apivalidation.IsNegativeErrorMsg))
			}
		}
	}
	if scheduling := obj.Scheduling; scheduling != nil {
		path := field.NewPath("scheduling")
		errs = append(errs, metavalidation.ValidateLabels(scheduling.NodeSelector, path.Child("nodeSelector"))...)
		errs = append(errs, checkTolerations(scheduling.Tolerations, path.Child("tolerations"))...)
	}
	return errs
}

func checkTolerations(tolerations []corev1.Toleration, path *field.Path) (errs field.ErrorList) {
	errs = podspec.CheckTolerations(tolerations, path)
	seen := sets.New[corev1.Toleration]()
	for n, toleration := range tolerations {
		key := corev1.Toleration{
			Key: toleration.Key, Operator: toleration.Operator, Value: toleration.Value, Effect: toleration.Effect,
		}
		if seen.Has(key) {
			errs = append(errs, field.Duplicate(path.Index(n), toleration))
		}
		seen.Insert(key)
	}
	return errs
}

// deprecatedLabels are labels of nodes that have other names by now, with the advice about them.
var deprecatedLabels = map[string]string{
	"beta.kubernetes.io/arch":                  `deprecated since v1.14; use "kubernetes.io/arch" instead`,
	"beta.kubernetes.io/os":                    `deprecated since v1.14; use "kubernetes.io/os" instead`,
	"failure-domain.beta.kubernetes.io/region": `deprecated since v1.17; use "topology.kubernetes.io/region" instead`,
	"failure-domain.beta.kubernetes.io/zone":   `deprecated since v1.17; use "topology.kubernetes.io/zone" instead`,
	"beta.kubernetes.io/instance-type": `deprecated since v1.17; ` +
		`use "node.kubernetes.io/instance-type" instead`,
	"app.kubernetes.io/created-by":                  `deprecated since v1.9`,
	"scheduler.alpha.kubernetes.io/preferAvoidPods": `deprecated since v1.22; use Taints and Tolerations instead`,
	"node-role.kubernetes.io/master":                `use "node-role.kubernetes.io/control-plane" instead`,
}

func warnings(obj *nodev1.RuntimeClass) (texts []string) {
	if obj.Scheduling == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(obj.Scheduling.NodeSelector)) {
		if advice, found := deprecatedLabels[key]; found {
			texts = append(texts, fmt.Sprintf("scheduling.nodeSelector: %s", advice))
		}
	}
	return texts
}

var columns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		{Name: "Handler", Type: "string", Description: ""}, // kube-apiserver's has none either
		resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any {
		class := obj.(*nodev1.RuntimeClass)
		return []any{class.Name, class.Handler, resource.Age(class)}
	},
}
