package podspec

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

func checkVariable(variable *corev1.EnvVar, path *field.Path) field.ErrorList {
	errs := rules.RequiredName(variable.Name, path.Child("name"), checkVariableName)
	if variable.ValueFrom == nil {
		return errs
	}
	return append(errs, checkSource(variable, path.Child("valueFrom"))...)
}

func checkVariableName(name string, _ bool) []string { return validation.IsRelaxedEnvVarName(name) }

// The fields of a pod that a variable may have.
var variableFields = []string{
	"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
	"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
}

func checkSource(variable *corev1.EnvVar, path *field.Path) field.ErrorList {
	from, sources := variable.ValueFrom, rules.CountSet(variable.ValueFrom)
	return slices.Concat(
		checkFieldRef(from.FieldRef, variableFields, path.Child("fieldRef")),
		checkResourceRef(from.ResourceFieldRef, false, path.Child("resourceFieldRef")),
		rules.Optional(from.ConfigMapKeyRef, path.Child("configMapKeyRef"),
			func(ref corev1.ConfigMapKeySelector, path *field.Path) field.ErrorList {
				return checkKeyRef(ref.Name, ref.Key, path)
			}),
		rules.Optional(from.SecretKeyRef, path.Child("secretKeyRef"),
			func(ref corev1.SecretKeySelector, path *field.Path) field.ErrorList {
				return checkKeyRef(ref.Name, ref.Key, path)
			}),
		rules.Invalid(sources == 0, path, "",
			"must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"),
		rules.Invalid(sources > 0 && variable.Value != "", path, "", "may not be specified when `value` is not empty"),
		rules.Invalid(sources > 1 && variable.Value == "", path, "", "may not have more than one field specified at a time"),
	)
}

func checkKeyRef(name, key string, path *field.Path) field.ErrorList {
	return append(rules.Messages(path.Child("name"), name, apivalidation.NameIsDNSSubdomain(name, false)),
		rules.RequiredName(key, path.Child("key"), func(key string, _ bool) []string {
			return validation.IsConfigMapKey(key)
		})...)
}

// checkFieldRef checks a reference to a field of the pod, which may be one of known or an annotation or label.
func checkFieldRef(ref *corev1.ObjectFieldSelector, known []string, path *field.Path) field.ErrorList {
	fieldPath := path.Child("fieldPath")
	if ref == nil {
		return nil
	}
	if ref.FieldPath == "" {
		return field.ErrorList{field.Required(fieldPath, "")}
	}
	name, key, subscripted := strings.Cut(strings.TrimSuffix(ref.FieldPath, "']"), "['")
	subscripted = subscripted && strings.HasSuffix(ref.FieldPath, "']")
	switch {
	case ref.APIVersion != "v1":
		return field.ErrorList{field.Invalid(fieldPath, ref.FieldPath,
			fmt.Sprintf("error converting fieldPath: unsupported pod version: %s", ref.APIVersion))}
	case subscripted && name == "metadata.annotations":
		return rules.QualifiedName(strings.ToLower(key), path)
	case subscripted && name == "metadata.labels":
		return rules.QualifiedName(key, path)
	case slices.Contains(convertible, ref.FieldPath):
		return rules.Known(ref.FieldPath, fieldPath, known...)
	}
	return field.ErrorList{field.Invalid(fieldPath, ref.FieldPath,
		"error converting fieldPath: field label not supported: "+ref.FieldPath)}
}

// convertible are the fields that a reference may name, although not all of them everywhere.
var convertible = []string{
	"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid",
	"spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName",
	"status.phase", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
}

// The quantities of a container that a variable or a file may have, besides those of huge pages.
var containerQuantities = []string{
	"limits.cpu", "limits.ephemeral-storage", "limits.memory",
	"requests.cpu", "requests.ephemeral-storage", "requests.memory",
}

// checkResourceRef checks a reference to a quantity. One in a volume has to name the container.
func checkResourceRef(ref *corev1.ResourceFieldSelector, volume bool, path *field.Path) field.ErrorList {
	if ref == nil {
		return nil
	}
	errs := checkDivisor(ref, path.Child("divisor"))
	if volume && ref.ContainerName == "" {
		return append(field.ErrorList{field.Required(path.Child("containerName"), "")}, errs...)
	}
	if isOfHugePages(ref) {
		return errs
	}
	return append(rules.OneOf(ref.Resource, path.Child("resource"), containerQuantities...), errs...)
}

func isOfHugePages(ref *corev1.ResourceFieldSelector) bool {
	return strings.HasPrefix(ref.Resource, "requests.hugepages-") || strings.HasPrefix(ref.Resource, "limits.hugepages-")
}

// checkDivisor checks the unit of a quantity, unless it is left out.
func checkDivisor(ref *corev1.ResourceFieldSelector, path *field.Path) field.ErrorList {
	units, separator := "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei", ", "
	_, kind, _ := strings.Cut(ref.Resource, ".")
	switch {
	case isOfHugePages(ref):
		kind = "hugepages"
	case !slices.Contains(containerQuantities, ref.Resource):
		return nil
	case kind == "cpu":
		units, separator = "1m and 1", " and "
	case kind == "ephemeral-storage":
		kind = "local ephemeral storage"
	}
	isKnown := ref.Divisor.IsZero() || slices.Contains(strings.Split(units, separator), ref.Divisor.String())
	return rules.Invalid(!isKnown, path, ref.Resource,
		fmt.Sprintf("only divisor's values %s are supported with the %s resource", units, kind))
}

// checkEnvFrom checks the objects whose keys become variables. Some errors name the list instead of the item, as those
// of kube-apiserver.
func checkEnvFrom(sources []corev1.EnvFromSource, path *field.Path) field.ErrorList {
	return rules.Each(sources, path, func(source *corev1.EnvFromSource, item *field.Path) field.ErrorList {
		errs := rules.Name(source.Prefix, item.Child("prefix"), checkVariableName)
		if source.ConfigMapRef != nil {
			errs = append(errs, checkObjectRef(source.ConfigMapRef.Name, item.Child("configMapRef", "name"))...)
		}
		if source.SecretRef != nil {
			errs = append(errs, checkObjectRef(source.SecretRef.Name, item.Child("secretRef", "name"))...)
		}
		return slices.Concat(errs,
			rules.Invalid(source.ConfigMapRef == nil && source.SecretRef == nil, path, "",
				"must specify one of: `configMapRef` or `secretRef`"),
			rules.Invalid(source.ConfigMapRef != nil && source.SecretRef != nil, path, "",
				"may not have more than one field specified at a time"))
	})
}

// checkObjectRef checks the name of another object, which may be the beginning of one.
func checkObjectRef(name string, path *field.Path) field.ErrorList {
	return rules.RequiredName(name, path,
		func(name string, _ bool) []string { return apivalidation.NameIsDNSSubdomain(name, true) })
}
