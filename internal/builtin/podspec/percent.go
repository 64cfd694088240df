package podspec

import (
	"strconv"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// CheckIntOrPercent checks a number of pods, or a percentage of them.
func CheckIntOrPercent(value *intstr.IntOrString, path *field.Path) (errs field.ErrorList) {
	if value == nil {
		return nil
	}
	if value.Type == intstr.Int {
		return apivalidation.ValidateNonnegativeField(int64(value.IntVal), path)
	}
	for _, message := range validation.IsValidPercent(value.StrVal) {
		errs = append(errs, field.Invalid(path, *value, message))
	}
	return errs
}

// CheckPercentLimit checks that a percentage is not more than everything.
func CheckPercentLimit(value *intstr.IntOrString, path *field.Path) field.ErrorList {
	if value == nil || value.Type != intstr.String || len(validation.IsValidPercent(value.StrVal)) > 0 ||
		NumberOf(value) <= 100 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *value, "must not be greater than 100%")}
}

// NumberOf returns a number of pods, or the number before the percent sign.
func NumberOf(value *intstr.IntOrString) int {
	if value == nil {
		return 0
	}
	if value.Type == intstr.Int {
		return int(value.IntVal)
	}
	number, err := strconv.Atoi(strings.TrimSuffix(value.StrVal, "%"))
	if err != nil {
		return 0
	}
	return number
}
