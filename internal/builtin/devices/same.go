package devices

import (
	"bytes"
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// same reports whether two values are equal. Parameters of drivers, which are JSON, may differ in white space: a stored
// object has none.
func same(a, b any) bool {
	if equality.Semantic.DeepEqual(a, b) {
		return true
	}
	first, err := json.Marshal(a)
	if err != nil {
		return false
	}
	second, err := json.Marshal(b)
	return err == nil && bytes.Equal(first, second)
}

// checkUnchanged returns an error if a spec has changed. value is what the error shows of it.
func checkUnchanged(spec, old, value any) field.ErrorList {
	if same(spec, old) {
		return nil
	}
	return field.ErrorList{field.Invalid(specPath, value, "field is immutable")}
}
