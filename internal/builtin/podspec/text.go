package podspec

import (
	"slices"
	"strings"

	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// CheckLabelName checks the key of a label.
func CheckLabelName(key string, path *field.Path) field.ErrorList {
	return metav1validation.ValidateLabelName(key, path)
}

// checkDescending checks a path below a folder.
func checkDescending(text string, path *field.Path) field.ErrorList {
	return append(rules.When(strings.HasPrefix(text, "/"), field.Invalid(path, text, "must be a relative path")),
		CheckNoBacksteps(text, path)...)
}

func hasBacksteps(text string) bool { return slices.Contains(strings.Split(text, "/"), "..") }

// CheckNoBacksteps checks that a path does not go up.
func CheckNoBacksteps(text string, path *field.Path) field.ErrorList {
	return rules.When(hasBacksteps(text), field.Invalid(path, text, "must not contain '..'"))
}

// checkFilePath checks the path of a file in a volume. Names that begin with two dots belong to the kubelet.
func checkFilePath(text string, path *field.Path) field.ErrorList {
	return append(checkDescending(text, path), rules.When(strings.HasPrefix(text, "..") && !strings.HasPrefix(text, "../"),
		field.Invalid(path, text, "must not start with '..'"))...)
}

// checkFileMode checks the mode of a file, unless it is left out.
func checkFileMode(mode *int32, path *field.Path) field.ErrorList {
	return rules.When(mode != nil && (*mode < 0 || *mode > 0o777),
		field.Invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive"))
}
