package storage

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func classDefinition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: storagev1.SchemeGroupVersion, Kind: "StorageClass", Plural: "storageclasses",
		Singular: "storageclass", ShortNames: []string{"sc"},
		Object: &storagev1.StorageClass{}, List: &storagev1.StorageClassList{},
		Default: defaultClass, Columns: classColumns, ReturnsDeleted: true,
		Strategy: resource.Typed[*storagev1.StorageClass]{Check: checkClass, CheckUpdate: checkClassUpdate},
	}
}

func defaultClass(obj runtime.Object) {
	class := obj.(*storagev1.StorageClass)
	if class.ReclaimPolicy == nil {
		class.ReclaimPolicy = new(corev1.PersistentVolumeReclaimDelete)
	}
	if class.VolumeBindingMode == nil {
		class.VolumeBindingMode = new(storagev1.VolumeBindingImmediate)
	}
}

func checkClass(obj *storagev1.StorageClass) field.ErrorList {
	errs := resource.CheckClusterMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	if path := field.NewPath("provisioner"); obj.Provisioner == "" {
		errs = append(errs, resource.Missing(path))
	} else {
		errs = append(errs, checkProvisioner(obj.Provisioner, path)...)
	}
	errs = append(errs, checkClassParameters(obj.Parameters, field.NewPath("parameters"))...)
	if policy := ptr.Deref(obj.ReclaimPolicy, ""); policy != "" {
		errs = append(errs, resource.CheckSupported(field.NewPath("reclaimPolicy"), policy,
			corev1.PersistentVolumeReclaimDelete, corev1.PersistentVolumeReclaimRetain)...)
	}
	if path := field.NewPath("volumeBindingMode"); obj.VolumeBindingMode == nil {
		errs = append(errs, field.Required(path, ""))
	} else {
		errs = append(errs, resource.CheckSupported(path, *obj.VolumeBindingMode,
			storagev1.VolumeBindingImmediate, storagev1.VolumeBindingWaitForFirstConsumer)...)
	}
	return append(errs, checkTopologies(obj.AllowedTopologies, field.NewPath("allowedTopologies"))...)
}

func checkClassUpdate(obj, old *storagev1.StorageClass) field.ErrorList {
	errs := append(checkClass(obj), resource.CheckMetadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)...)
	constant := func(name string, after, before any) {
		errs = append(errs, resource.CheckConstant(field.NewPath(name), after, before)...)
	}
	constant("provisioner", obj.Provisioner, old.Provisioner)
	constant("parameters", obj.Parameters, old.Parameters)
	constant("reclaimPolicy", obj.ReclaimPolicy, old.ReclaimPolicy)
	constant("volumeBindingMode", obj.VolumeBindingMode, old.VolumeBindingMode)
	return errs
}

// checkProvisioner returns the errors of the name of a driver in a class.
func checkProvisioner(name string, path *field.Path) field.ErrorList {
	return resource.CheckValue(path, strings.ToLower(name), validation.IsQualifiedName)
}

// Limits of the parameters of a class.
const (
	maxParameters     = 512
	maxParameterBytes = 256 << 10
)

func checkClassParameters(parameters map[string]string, path *field.Path) (errs field.ErrorList) {
	if len(parameters) > maxParameters {
		return field.ErrorList{field.TooLong(path, "", maxParameters)}
	}
	size := 0
	for key, value := range parameters {
		if key == "" {
			errs = append(errs, field.Invalid(path, key, "field can not be empty."))
		}
		size += len(key) + len(value)
	}
	if size > maxParameterBytes {
		errs = append(errs, field.TooLong(path, "", maxParameterBytes))
	}
	return errs
}

func checkTopologies(terms []corev1.TopologySelectorTerm, path *field.Path) (errs field.ErrorList) {
	var seen []map[string]sets.Set[string]
	for n, term := range terms {
		at := path.Index(n).Child("matchLabelExpressions")
		keys := map[string]sets.Set[string]{}
		for n, expression := range term.MatchLabelExpressions {
			at := at.Index(n)
			errs = append(errs, checkTopologyValues(expression.Values, at.Child("values"))...)
			errs = append(errs, metavalidation.ValidateLabelName(expression.Key, at.Child("key"))...)
			if _, found := keys[expression.Key]; found {
				errs = append(errs, field.Duplicate(at.Child("key"), expression.Key))
			}
			keys[expression.Key] = sets.New(expression.Values...)
		}
		for _, other := range seen {
			if apiequality.Semantic.DeepEqual(keys, other) {
				errs = append(errs, field.Duplicate(at, ""))
			}
		}
		seen = append(seen, keys)
	}
	return errs
}

func checkTopologyValues(values []string, path *field.Path) (errs field.ErrorList) {
	if len(values) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	seen := sets.New[string]()
	for n, value := range values {
		if seen.Has(value) {
			errs = append(errs, field.Duplicate(path.Index(n), value))
		}
		seen.Insert(value)
	}
	return errs
}

// isDefaultAnnotations mark the class of claims that name none.
var isDefaultAnnotations = []string{
	"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class",
}

// IsDefaultClass reports whether a class is marked as that of claims that name none.
func IsDefaultClass(class *storagev1.StorageClass) bool {
	for _, annotation := range isDefaultAnnotations {
		if class.Annotations[annotation] == "true" {
			return true
		}
	}
	return false
}

var classColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		resource.TextColumn("Provisioner", storagev1.StorageClass{}.SwaggerDoc()["provisioner"]),
		resource.TextColumn("ReclaimPolicy", storagev1.StorageClass{}.SwaggerDoc()["reclaimPolicy"]),
		resource.TextColumn("VolumeBindingMode", storagev1.StorageClass{}.SwaggerDoc()["volumeBindingMode"]),
		resource.TextColumn("AllowVolumeExpansion", storagev1.StorageClass{}.SwaggerDoc()["allowVolumeExpansion"]),
		resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any { return classCells(obj.(*storagev1.StorageClass), nil) },
	// A list says which class claims get that name none.
	CellsInList: func(items []runtime.Object) func(obj runtime.Object) []any {
		classes := make([]*storagev1.StorageClass, len(items))
		for n, item := range items {
			classes[n] = item.(*storagev1.StorageClass)
		}
		inEffect := resource.Newest(classes, IsDefaultClass)
		return func(obj runtime.Object) []any { return classCells(obj.(*storagev1.StorageClass), inEffect) }
	},
}

func classCells(class, inEffect *storagev1.StorageClass) []any {
	name := class.Name
	if inEffect != nil && inEffect.Name == name {
		name += " (default)"
	}
	return []any{
		name, class.Provisioner, string(ptr.Deref(class.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)),
		string(ptr.Deref(class.VolumeBindingMode, storagev1.VolumeBindingImmediate)),
		ptr.Deref(class.AllowVolumeExpansion, false), resource.Age(class),
	}
}
