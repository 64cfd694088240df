package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// LimitRange returns the resource of the limits that the objects of a namespace have by default. They are stored;
// nothing applies them.
func LimitRange() *resource.Definition {
	return &resource.Definition{
		GroupVersion: corev1.SchemeGroupVersion, Kind: "LimitRange", Plural: "limitranges", Singular: "limitrange",
		ShortNames: []string{"limits"}, Namespaced: true,
		Object: &corev1.LimitRange{}, List: &corev1.LimitRangeList{}, Default: defaultLimitRange,
		Strategy: resource.Typed[*corev1.LimitRange]{
			Prepare: func(obj *corev1.LimitRange) {
				if obj.Name == "" {
					obj.Name = string(uuid.NewUUID())
				}
			},
			Check:           checkLimitRange,
			CheckUpdate:     func(obj, _ *corev1.LimitRange) field.ErrorList { return checkLimitRange(obj) },
			CreatesOnUpdate: true,
		},
	}
}

// defaultLimitRange makes the maxima of containers their limits, the limits their requests, and then the minima their
// requests.
func defaultLimitRange(obj runtime.Object) {
	limits := obj.(*corev1.LimitRange).Spec.Limits
	for n := range limits {
		limit := &limits[n]
		if limit.Type == corev1.LimitTypeContainer {
			limit.Default = withDefaults(limit.Default, limit.Max)
			limit.DefaultRequest = withDefaults(limit.DefaultRequest, limit.Default, limit.Min)
		}
		for _, list := range []corev1.ResourceList{
			limit.Max, limit.Min, limit.Default, limit.DefaultRequest, limit.MaxLimitRequestRatio,
		} {
			for name, quantity := range list {
				quantity.RoundUp(apiresource.Milli)
				list[name] = quantity
			}
		}
	}
}

// withDefaults adds the quantities of others that a list does not have.
func withDefaults(list corev1.ResourceList, others ...corev1.ResourceList) corev1.ResourceList {
	if list == nil {
		list = corev1.ResourceList{}
	}
	for _, other := range others {
		for name, quantity := range other {
			if _, found := list[name]; !found {
				list[name] = quantity.DeepCopy()
			}
		}
	}
	return list
}

func checkLimitRange(obj *corev1.LimitRange) field.ErrorList {
	errs := resource.CheckMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	types := sets.New[corev1.LimitType]()
	for n := range obj.Spec.Limits {
		limit, path := &obj.Spec.Limits[n], field.NewPath("spec", "limits").Index(n)
		errs = append(errs, checkLimitType(limit.Type, path.Child("type"))...)
		if types.Has(limit.Type) {
			errs = append(errs, field.Duplicate(path.Child("type"), limit.Type))
		}
		types.Insert(limit.Type)
		errs = append(errs, checkLimit(limit, path)...)
	}
	return errs
}

func checkLimitType(kind corev1.LimitType, path *field.Path) field.ErrorList {
	if errs := resource.CheckValue(path, string(kind), validation.IsQualifiedName); len(errs) > 0 {
		return errs
	}
	switch kind {
	case corev1.LimitTypePod, corev1.LimitTypeContainer, corev1.LimitTypePersistentVolumeClaim:
		return nil
	}
	if strings.Contains(string(kind), "/") {
		return nil
	}
	return field.ErrorList{field.Invalid(path, kind, "must be a standard limit type or fully qualified")}
}

// checkLimit returns the errors of quantities that contradict each other.
func checkLimit(limit *corev1.LimitRangeItem, path *field.Path) (errs field.ErrorList) {
	defaults, requests := limit.Default, limit.DefaultRequest
	if limit.Type == corev1.LimitTypePod {
		if len(defaults) > 0 {
			errs = append(errs, field.Forbidden(path.Child("default"), "may not be specified when `type` is 'Pod'"))
		}
		if len(requests) > 0 {
			errs = append(errs, field.Forbidden(path.Child("defaultRequest"), "may not be specified when `type` is 'Pod'"))
		}
		defaults, requests = nil, nil
	}
	if limit.Type == corev1.LimitTypePersistentVolumeClaim {
		_, isMin := limit.Min[corev1.ResourceStorage]
		if _, isMax := limit.Max[corev1.ResourceStorage]; !isMin && !isMax {
			errs = append(errs, field.Required(path.Child("limits"),
				"either minimum or maximum storage value is required, but neither was provided"))
		}
	}
	names := sets.New[corev1.ResourceName]()
	for _, list := range []struct {
		field      string
		quantities corev1.ResourceList
	}{
		{"max", limit.Max}, {"min", limit.Min}, {"default", defaults}, {"defaultRequest", requests},
		{"maxLimitRequestRatio", limit.MaxLimitRequestRatio},
	} {
		for _, name := range slices.Sorted(maps.Keys(list.quantities)) {
			at := path.Child(list.field).Key(string(name))
			errs = append(errs, checkLimitedResource(limit.Type, name, at)...)
			names.Insert(name)
		}
	}
	for _, name := range sets.List(names) {
		errs = append(errs, (&limitOrder{path: path, name: name}).check(limit, defaults, requests)...)
	}
	return errs
}

// containerResources are the resources without a domain that containers request, besides huge pages.
var containerResources = sets.New(corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage)

// checkLimitedResource returns the errors of the name of a resource of Pods, containers or others.
func checkLimitedResource(kind corev1.LimitType, name corev1.ResourceName, path *field.Path) field.ErrorList {
	isHugePages := strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
	isStandard := isHugePages || quotaResources.Has(name) || name == corev1.ResourceStorage
	errs := resource.CheckValue(path, string(name), validation.IsQualifiedName)
	hasDomain := strings.Contains(string(name), "/")
	if len(errs) == 0 && !hasDomain && !isStandard {
		errs = append(errs, field.Invalid(path, name, "must be a standard resource type or fully qualified"))
	}
	isOfPods := kind == corev1.LimitTypePod || kind == corev1.LimitTypeContainer
	if isOfPods && !hasDomain && !isHugePages && !containerResources.Has(name) {
		errs = append(errs, field.Invalid(path, name, "must be a standard resource for containers"))
	}
	return errs
}

// limitOrder checks that the quantities of one resource are in order: the minimum, the request, the limit, the maximum.
type limitOrder struct {
	path *field.Path
	name corev1.ResourceName
	errs field.ErrorList
}

// bound is a list of quantities with the words for one of them.
type bound struct {
	list  corev1.ResourceList
	words string
}

func (o *limitOrder) check(limit *corev1.LimitRangeItem, defaults, requests corev1.ResourceList) field.ErrorList {
	low, high := bound{limit.Min, "min"}, bound{limit.Max, "max"}
	request := bound{requests, "default request"}
	o.compare("min", limit.Min, low, high)
	o.compare("defaultRequest", requests, low, request)
	o.compare("defaultRequest", requests, request, high)
	o.compare("defaultRequest", requests, request, bound{defaults, "default limit"})
	o.compare("default", limit.Min, low, bound{defaults, "default"})
	o.compare("default", limit.Max, bound{defaults, "default"}, high)
	one := *apiresource.NewQuantity(1, apiresource.DecimalSI)
	if ratio, found := limit.MaxLimitRequestRatio[o.name]; found && ratio.Cmp(one) < 0 {
		o.errs = append(o.errs, field.Invalid(o.path.Child("maxLimitRequestRatio").Key(string(o.name)), ratio,
			fmt.Sprintf("ratio %s is less than 1", ratio.String())))
	}
	return o.errs
}

// compare adds an error of a field, with the value of one of the lists, if both bounds have the resource and the lower
// one has more.
func (o *limitOrder) compare(name string, values corev1.ResourceList, lower, upper bound) {
	low, lowFound := lower.list[o.name]
	high, highFound := upper.list[o.name]
	if !lowFound || !highFound || low.Cmp(high) <= 0 {
		return
	}
	o.errs = append(o.errs, field.Invalid(o.path.Child(name).Key(string(o.name)), values[o.name],
		fmt.Sprintf("%s value %s is greater than %s value %s", lower.words, low.String(), upper.words, high.String())))
}
