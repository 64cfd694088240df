package podspec

import (
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkOneOf checks a required value of an enumeration. The error lists the values in the order of known.
func checkOneOf[T ~string](value T, path *field.Path, known ...T) field.ErrorList {
	switch {
	case slices.Contains(known, value):
		return nil
	case value == "":
		return field.ErrorList{field.Required(path, "")}
	}
	return field.ErrorList{field.NotSupported(path, value, known)}
}

// invalid returns an error for each message.
func invalid(path *field.Path, value any, messages []string) (errs field.ErrorList) {
	for _, message := range messages {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}

// checkName checks the name of another object, if there is one.
func checkName(name string, path *field.Path, check apivalidation.ValidateNameFunc) field.ErrorList {
	if name == "" {
		return nil
	}
	return invalid(path, name, check(name, false))
}

func checkLabel(text string, path *field.Path) field.ErrorList {
	return invalid(path, text, validation.IsDNS1123Label(text))
}

func checkSubdomain(text string, path *field.Path) field.ErrorList {
	return invalid(path, text, validation.IsDNS1123Subdomain(text))
}

func checkQualifiedName(text string, path *field.Path) field.ErrorList {
	return invalid(path, text, validation.IsQualifiedName(text))
}

// CheckLabelName checks the key of a label.
func CheckLabelName(key string, path *field.Path) field.ErrorList {
	return metav1validation.ValidateLabelName(key, path)
}

// checkDescending checks a path below a folder.
func checkDescending(text string, path *field.Path) (errs field.ErrorList) {
	if strings.HasPrefix(text, "/") {
		errs = append(errs, field.Invalid(path, text, "must be a relative path"))
	}
	return append(errs, checkNoBacksteps(text, path)...)
}

func checkNoBacksteps(text string, path *field.Path) field.ErrorList {
	if slices.Contains(strings.Split(text, "/"), "..") {
		return field.ErrorList{field.Invalid(path, text, "must not contain '..'")}
	}
	return nil
}

// checkFilePath checks the path of a file in a volume. Names that begin with two dots belong to the kubelet.
func checkFilePath(text string, path *field.Path) field.ErrorList {
	errs := checkDescending(text, path)
	if strings.HasPrefix(text, "..") && !strings.HasPrefix(text, "../") {
		errs = append(errs, field.Invalid(path, text, "must not start with '..'"))
	}
	return errs
}

// checkFileMode checks the mode of a file, unless it is left out.
func checkFileMode(mode *int32, path *field.Path) field.ErrorList {
	if mode == nil || *mode >= 0 && *mode <= 0o777 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *mode, "must be a number between 0 and 0777 (octal), both inclusive")}
}
