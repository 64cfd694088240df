package devices

import (
	"encoding/json"
	"fmt"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	specPath   = field.NewPath("spec")
	statusPath = field.NewPath("status")
)

// checkLabel checks the name of a request or device.
func checkLabel(name string, path *field.Path) field.ErrorList {
	return invalid(path, name, validation.IsDNS1123Label(name))
}

func invalid(path *field.Path, value string, texts []string) (errs field.ErrorList) {
	for _, text := range texts {
		errs = append(errs, field.Invalid(path, value, text))
	}
	return errs
}

// checkDriver checks the name of a driver: a domain in any case.
func checkDriver(name string, path *field.Path) (errs field.ErrorList) {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if len(name) > validation.DNS1123LabelMaxLength {
		errs = append(errs, field.TooLong(path, "", validation.DNS1123LabelMaxLength))
	}
	return append(errs, invalid(path, name, validation.IsDNS1123Subdomain(strings.ToLower(name)))...)
}

// maxPoolName is the length of the longest name of a pool.
const maxPoolName = validation.DNS1123SubdomainMaxLength

// checkPool checks the name of a pool: domains that slashes separate.
func checkPool(name string, path *field.Path) (errs field.ErrorList) {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if len(name) > maxPoolName {
		errs = append(errs, field.TooLong(path, "", maxPoolName))
	}
	for part := range strings.SplitSeq(name, "/") {
		errs = append(errs, invalid(path, part, validation.IsDNS1123Subdomain(part))...)
	}
	return errs
}

// checkQualifiedName checks the name of an attribute or a capacity: a C identifier, which may follow a domain.
func checkQualifiedName(name string, path *field.Path) (errs field.ErrorList) {
	domain, id, qualified := strings.Cut(name, "/")
	switch {
	case !qualified:
		id = name
	case domain == "":
		errs = append(errs, field.Invalid(path, "", "the domain must not be empty"))
	default:
		errs = append(errs, checkDriver(domain, path)...)
	}
	if qualified && id == "" {
		return append(errs, field.Invalid(path, "", "the name must not be empty"))
	}
	if strings.Contains(id, "/") {
		return nil // accepted by kube-apiserver
	}
	if len(id) > resourcev1.DeviceMaxIDLength {
		errs = append(errs, field.TooLong(path, "", resourcev1.DeviceMaxIDLength))
	}
	return append(errs, invalid(path, id, content.IsCIdentifier(id))...)
}

// maxParameters is the size of the largest parameters of a driver.
const maxParameters = 10 << 10

// checkParameters checks that parameters are an object. Those that are stored may be larger.
func checkParameters(parameters runtime.RawExtension, path *field.Path, stored bool) field.ErrorList {
	var value any
	switch err := json.Unmarshal(parameters.Raw, &value); {
	case len(parameters.Raw) == 0:
		return field.ErrorList{field.Required(path, "")}
	case !stored && len(parameters.Raw) > maxParameters:
		return field.ErrorList{field.TooLong(path, "", maxParameters)}
	case err != nil:
		return field.ErrorList{field.Invalid(path, "<value omitted>", fmt.Sprintf("error parsing data as JSON: %v", err))}
	case value == nil:
		return field.ErrorList{field.Required(path, "")}
	}
	if _, ok := value.(map[string]any); !ok {
		return field.ErrorList{field.Invalid(path, "<value omitted>", "must be a valid JSON object")}
	}
	return nil
}
