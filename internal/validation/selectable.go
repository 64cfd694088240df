package validation

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	apiextensionsfeatures "k8s.io/apiextensions-apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// SelectableFields returns the values of the declared selectable fields of an object by name, "" for a missing field.
// It returns nil if none is declared. The CRD endpoint accepts only paths of names, such as ".spec.color".
func (v *Version) SelectableFields(obj map[string]any) map[string]string {
	declared := v.spec.SelectableFields
	if len(declared) == 0 || !utilfeature.DefaultFeatureGate.Enabled(apiextensionsfeatures.CustomResourceFieldSelectors) {
		return nil
	}
	values := make(map[string]string, len(declared))
	for i := range declared {
		path := strings.TrimPrefix(declared[i].JSONPath, ".")
		var value any = obj
		for name := range strings.SplitSeq(path, ".") {
			fields, _ := value.(map[string]any)
			value = fields[name]
		}
		values[path] = text(value)
	}
	return values
}

// text returns a value in the form that selectors compare. A float that JSON has no sign of is an integer once it was
// stored and read.
func text(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	case float64:
		if value == math.Trunc(value) && value >= math.MinInt64 && value < -math.MinInt64 {
			return strconv.FormatInt(int64(value), 10)
		}
	}
	return fmt.Sprint(value)
}
