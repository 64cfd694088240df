package devices

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	specPath   = field.NewPath("spec")
	statusPath = field.NewPath("status")
)

// validator is a function of k8s.io/api that has the declarative rules of a type.
type validator[T any] func(
	ctx context.Context, op operation.Operation, path *field.Path, obj, old *T,
) field.ErrorList

// features are those that the declarative rules ask for. They are off by default.
var features = map[string]bool{"DRAPartitionableDevicesType": false}

// alpha matches the paths of fields of features that are off by default. They are stored, but not checked, because
// kube-apiserver drops them, whatever they hold.
var alpha = regexp.MustCompile(`\.(partitionTypeAttribute|skipNodeOperations|nodeAllocatableResources|` +
	`compatibilityGroups|derivedAttributes|bools|ints|strings|versions)(\[|$)`)

// declared returns the errors that the declarative rules of a type find, without those that are not in effect yet. old
// is nil for a new object; what has not changed is not checked again.
func declared[T any](rules validator[T], path *field.Path, obj, old *T) field.ErrorList {
	ctx, op := context.Background(), operation.Operation{Type: operation.Create, Options: features}
	if old != nil {
		op.Type = operation.Update
		if equality.Semantic.DeepEqual(obj, old) {
			return nil
		}
	}
	errs := validate.FilterEnforcedDeclarativeErrors(ctx, rules(ctx, op, path, obj, old), true)
	return slices.DeleteFunc(errs, func(err *field.Error) bool { return alpha.MatchString(err.Field) })
}

// same reports whether two specs are equal. Parameters of drivers, which are JSON, may differ in white space: a stored
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
