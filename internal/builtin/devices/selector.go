package devices

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/utils/ptr"
)

// checkSelectors checks the selectors of a class or a request. stored says that they are as they were.
func checkSelectors(selectors []resourcev1.DeviceSelector, path *field.Path, stored bool) (errs field.ErrorList) {
	if len(selectors) > resourcev1.DeviceSelectorsMaxSize {
		return nil // a declarative rule
	}
	for n := range selectors {
		path := path.Index(n).Child("cel")
		if selectors[n].CEL == nil {
			errs = append(errs, field.Required(path, ""))
		} else if !stored {
			errs = append(errs, checkExpression(selectors[n].CEL.Expression, path.Child("expression"))...)
		}
	}
	return errs
}

// expressionFeatures are the features of expressions that are on by default.
var expressionFeatures = cel.Features{EnableConsumableCapacity: true}

// checkExpression compiles an expression on devices.
func checkExpression(expression string, path *field.Path) field.ErrorList {
	const longest = resourcev1.CELSelectorExpressionMaxLength
	if len(expression) > longest {
		return field.ErrorList{field.TooLong(path, "", longest)}
	}
	result := cel.GetCompiler(expressionFeatures).CompileCELExpression(expression, cel.Options{
		EnvType: ptr.To(environment.NewExpressions),
	})
	switch err := result.Error; {
	case err == nil && result.MaxCost > resourcev1.CELSelectorExpressionMaxCost:
		return field.ErrorList{field.Forbidden(path, "too complex, exceeds cost limit")}
	case err == nil:
		return nil
	case err.Type == apiservercel.ErrorTypeInvalid:
		return field.ErrorList{field.Invalid(path, expression, err.Detail)}
	default:
		return field.ErrorList{field.InternalError(path, err)}
	}
}
