package podspec

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func checkEnv(variables []corev1.EnvVar, path *field.Path) (errs field.ErrorList) {
	for n := range variables {
		variable, item := &variables[n], path.Index(n)
		if variable.Name == "" {
			errs = append(errs, field.Required(item.Child("name"), ""))
		} else {
			errs = append(errs, invalid(item.Child("name"), variable.Name, validation.IsRelaxedEnvVarName(variable.Name))...)
		}
		if variable.ValueFrom != nil {
			errs = append(errs, checkSource(variable, item.Child("valueFrom"))...)
		}
	}
	return errs
}

// The fields of a pod that a variable may have.
var variableFields = []string{
	"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
	"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
}

func checkSource(variable *corev1.EnvVar, path *field.Path) (errs field.ErrorList) {
	from, sources := variable.ValueFrom, 0
	if from.FieldRef != nil {
		sources++
		errs = append(errs, checkFieldRef(from.FieldRef, variableFields, path.Child("fieldRef"))...)
	}
	if from.ResourceFieldRef != nil {
		sources++
		errs = append(errs, checkResourceRef(from.ResourceFieldRef, false, path.Child("resourceFieldRef"))...)
	}
	if ref := from.ConfigMapKeyRef; ref != nil {
		sources++
		errs = append(errs, checkKeyRef(ref.Name, ref.Key, path.Child("configMapKeyRef"))...)
	}
	if ref := from.SecretKeyRef; ref != nil {
		sources++
		errs = append(errs, checkKeyRef(ref.Name, ref.Key, path.Child("secretKeyRef"))...)
	}
	if from.FileKeyRef != nil {
		sources++
		errs = append(errs, checkFileKey(from.FileKeyRef, path.Child("fileKeyRef"))...)
	}
	switch {
	case sources == 0:
		errs = append(errs, field.Invalid(path, "",
			"must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"))
	case variable.Value != "":
		errs = append(errs, field.Invalid(path, "", "may not be specified when `value` is not empty"))
	case sources > 1:
		errs = append(errs, field.Invalid(path, "", "may not have more than one field specified at a time"))
	}
	return errs
}

func checkKeyRef(name, key string, path *field.Path) field.ErrorList {
	errs := invalid(path.Child("name"), name, apivalidation.NameIsDNSSubdomain(name, false))
	if key == "" {
		return append(errs, field.Required(path.Child("key"), ""))
	}
	return append(errs, invalid(path.Child("key"), key, validation.IsConfigMapKey(key))...)
}

func checkFileKey(ref *corev1.FileKeySelector, path *field.Path) (errs field.ErrorList) {
	if ref.Key == "" {
		errs = append(errs, field.Required(path.Child("key"), ""))
	} else {
		errs = append(errs, invalid(path.Child("key"), ref.Key, validation.IsRelaxedEnvVarName(ref.Key))...)
	}
	if ref.VolumeName == "" {
		errs = append(errs, field.Required(path.Child("volumeName"), ""))
	} else {
		errs = append(errs, checkLabel(ref.VolumeName, path.Child("volumeName"))...)
	}
	if ref.Path == "" {
		return append(errs, field.Required(path.Child("path"), ""))
	}
	return append(errs, checkNoBacksteps(ref.Path, path.Child("path"))...)
}

// checkFieldRef checks a reference to a field of the pod, which may be one of known or an annotation or label.
func checkFieldRef(ref *corev1.ObjectFieldSelector, known []string, path *field.Path) field.ErrorList {
	if ref.FieldPath == "" {
		return field.ErrorList{field.Required(path.Child("fieldPath"), "")}
	}
	name, key, subscripted := strings.Cut(strings.TrimSuffix(ref.FieldPath, "']"), "['")
	subscripted = subscripted && strings.HasSuffix(ref.FieldPath, "']")
	switch {
	case ref.APIVersion != "v1":
		return field.ErrorList{field.Invalid(path.Child("fieldPath"), ref.FieldPath,
			fmt.Sprintf("error converting fieldPath: unsupported pod version: %s", ref.APIVersion))}
	case subscripted && name == "metadata.annotations":
		return checkQualifiedName(strings.ToLower(key), path)
	case subscripted && name == "metadata.labels":
		return checkQualifiedName(key, path)
	case slices.Contains(known, ref.FieldPath):
		return nil
	case slices.Contains(convertible, ref.FieldPath):
		return field.ErrorList{field.NotSupported(path.Child("fieldPath"), ref.FieldPath, known)}
	}
	return field.ErrorList{field.Invalid(path.Child("fieldPath"), ref.FieldPath,
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
func checkResourceRef(ref *corev1.ResourceFieldSelector, volume bool, path *field.Path) (errs field.ErrorList) {
	name := ref.Resource
	huge := strings.HasPrefix(name, "requests.hugepages-") || strings.HasPrefix(name, "limits.hugepages-")
	switch {
	case volume && ref.ContainerName == "":
		errs = append(errs, field.Required(path.Child("containerName"), ""))
	case name == "":
		errs = append(errs, field.Required(path.Child("resource"), ""))
	case !huge && !slices.Contains(containerQuantities, name):
		errs = append(errs, field.NotSupported(path.Child("resource"), name, containerQuantities))
	}
	if ref.Divisor.IsZero() || !huge && !slices.Contains(containerQuantities, name) {
		return errs
	}
	kind, units := "memory", "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"
	switch _, resource, _ := strings.Cut(name, "."); {
	case huge:
		kind = "hugepages"
	case resource == "cpu":
		kind, units = "cpu", "1m and 1"
	case resource == "ephemeral-storage":
		kind = "local ephemeral storage"
	}
	known := strings.FieldsFunc(strings.ReplaceAll(units, " and ", ","), func(r rune) bool { return r == ',' || r == ' ' })
	if !slices.Contains(known, ref.Divisor.String()) {
		errs = append(errs, field.Invalid(path.Child("divisor"), name,
			fmt.Sprintf("only divisor's values %s are supported with the %s resource", units, kind)))
	}
	return errs
}

func checkEnvFrom(sources []corev1.EnvFromSource, path *field.Path) (errs field.ErrorList) {
	for n := range sources {
		source, item, count := &sources[n], path.Index(n), 0
		if source.Prefix != "" {
			errs = append(errs, invalid(item.Child("prefix"), source.Prefix, validation.IsRelaxedEnvVarName(source.Prefix))...)
		}
		if source.ConfigMapRef != nil {
			count++
			errs = append(errs, checkObjectRef(source.ConfigMapRef.Name, item.Child("configMapRef", "name"))...)
		}
		if source.SecretRef != nil {
			count++
			errs = append(errs, checkObjectRef(source.SecretRef.Name, item.Child("secretRef", "name"))...)
		}
		switch count {
		case 0:
			errs = append(errs, field.Invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
		case 2:
			errs = append(errs, field.Invalid(path, "", "may not have more than one field specified at a time"))
		}
	}
	return errs
}

// checkObjectRef checks a required name of another object.
func checkObjectRef(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return invalid(path, name, apivalidation.NameIsDNSSubdomain(name, true))
}
