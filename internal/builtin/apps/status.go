package apps

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// count is a number in the status of a workload.
type count struct {
	name  string
	value int64
}

// checkCounts checks that numbers of a status are not negative.
func checkCounts(counts ...count) (errs field.ErrorList) {
	for _, c := range counts {
		errs = append(errs, apivalidation.ValidateNonnegativeField(c.value, statusPath.Child(c.name))...)
	}
	return errs
}

// checkAtMost checks that numbers of a status are at most another one, which has the name limit in errors.
func checkAtMost(limit count, counts ...count) (errs field.ErrorList) {
	for _, c := range counts {
		if c.value > limit.value {
			errs = append(errs, field.Invalid(statusPath.Child(c.name), int32(c.value), "cannot be greater than "+limit.name))
		}
	}
	return errs
}

// checkCollisions checks that the number of collisions of names does not become smaller.
func checkCollisions(now, old *int32) field.ErrorList {
	if old == nil || now != nil && *now >= *old {
		return nil
	}
	return field.ErrorList{field.Invalid(statusPath.Child("collisionCount"), ptr.Deref(now, 0), "cannot be decremented")}
}
