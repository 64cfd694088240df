package apps

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// count is a number in the status of a workload.
type count struct {
	name  string
	value int32
}

// checkCounts checks that no number of a status is negative. status is a pointer to it.
func checkCounts(status any) (errs field.ErrorList) {
	fields := reflect.ValueOf(status).Elem()
	for n := range fields.NumField() {
		value := reflect.Indirect(fields.Field(n))
		if value.CanInt() {
			name, _, _ := strings.Cut(fields.Type().Field(n).Tag.Get("json"), ",")
			errs = append(errs, rules.NonNegative(value.Int(), statusPath.Child(name))...)
		}
	}
	return errs
}

// checkAtMost checks that numbers of a status are at most another one, which has the name limit in errors.
func checkAtMost(limit string, most int32, counts ...count) (errs field.ErrorList) {
	for _, c := range counts {
		errs = append(errs, rules.When(c.value > most,
			field.Invalid(statusPath.Child(c.name), c.value, "cannot be greater than "+limit))...)
	}
	return errs
}

// checkCollisions checks that the number of collisions of names does not become smaller.
func checkCollisions(now, old *int32) field.ErrorList {
	return rules.When(old != nil && (now == nil || *now < *old),
		field.Invalid(statusPath.Child("collisionCount"), ptr.Deref(now, 0), "cannot be decremented"))
}
