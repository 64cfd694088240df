package admissionregistration

import (
	"regexp"
	"strings"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	policy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// stateless compiles expressions that use no variables of a policy.
var stateless = sync.OnceValue(func() plugincel.Compiler {
	return plugincel.NewCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
})

// compiler compiles the expressions of one object.
type compiler struct {
	plugincel.Compiler
	// composed declares the variables of a policy, which later expressions may use. It is nil for an object without.
	composed  *plugincel.CompositedCompiler
	hasParams bool
	// stored has the expressions of the object before an update.
	stored sets.Set[string]
}

// environment returns the environment of an expression. That of stored expressions has everything that any version of
// the API server has allowed.
func (c compiler) environment(expression string) environment.Type {
	if c.stored.Has(expression) {
		return environment.StoredExpressions
	}
	return environment.NewExpressions
}

// check compiles an expression, which may use some variables of admission.
func (c compiler) check(
	e plugincel.ExpressionAccessor, uses plugincel.OptionalVariableDeclarations, path *field.Path,
) field.ErrorList {
	uses.HasParams = c.hasParams
	result := c.CompileCELExpression(e, uses, c.environment(e.GetExpression()))
	return compileError(result.Error, e.GetExpression(), path)
}

// compileError returns the error of the field with an expression that does not compile.
func compileError(err *cel.Error, expression string, path *field.Path) field.ErrorList {
	switch {
	case err == nil:
		return nil
	case err.Type == cel.ErrorTypeRequired:
		return field.ErrorList{field.Required(path, err.Detail)}
	case err.Type == cel.ErrorTypeInvalid:
		return field.ErrorList{field.Invalid(path, expression, err.Detail)}
	}
	return field.ErrorList{field.InternalError(path, err)}
}

// withAuthorizer lets an expression use the variable authorizer.
var withAuthorizer = plugincel.OptionalVariableDeclarations{HasAuthorizer: true}

const maxMatchConditions = 64

// checkConditions checks the match conditions of a webhook or a policy. They use no variables.
func (c compiler) checkConditions(
	conditions []admissionregistrationv1.MatchCondition, path *field.Path,
) (errs field.ErrorList) {
	if len(conditions) > maxMatchConditions {
		errs = append(errs, field.TooMany(path, len(conditions), maxMatchConditions))
	}
	unique := rules.Unique[string]()
	return append(errs, rules.Each(conditions, path,
		func(m *admissionregistrationv1.MatchCondition, path *field.Path) (errs field.ErrorList) {
			if expression := strings.TrimSpace(m.Expression); expression == "" {
				errs = append(errs, field.Required(path.Child("expression"), ""))
			} else {
				c.Compiler = stateless() // made when it is needed
				condition := &matchconditions.MatchCondition{Expression: expression}
				errs = append(errs, c.check(condition, withAuthorizer, path.Child("expression"))...)
			}
			if path = path.Child("name"); m.Name == "" {
				return append(errs, field.Required(path, ""))
			}
			errs = append(errs, rules.QualifiedName(m.Name, path)...)
			return append(errs, unique(m.Name, path)...)
		})...)
}

// declare checks a variable of a policy, and declares it for the expressions that are compiled after it.
func (c compiler) declare(v *admissionregistrationv1.Variable, path *field.Path) (errs field.ErrorList) {
	switch {
	case strings.TrimSpace(v.Name) == "":
		errs = append(errs, field.Required(path.Child("name"), "name is not specified"))
	case !isIdentifier(v.Name):
		errs = append(errs, field.Invalid(path.Child("name"), v.Name, "must be a valid CEL identifier"))
	}
	if strings.TrimSpace(v.Expression) == "" {
		return append(errs, field.Required(path.Child("expression"), "expression is not specified"))
	}
	uses := plugincel.OptionalVariableDeclarations{HasParams: c.hasParams, HasAuthorizer: true}
	result := c.composed.CompileAndStoreVariable(
		&policy.Variable{Name: v.Name, Expression: v.Expression}, uses, c.environment(v.Expression))
	return append(errs, compileError(result.Error, v.Expression, path.Child("expression"))...)
}

var (
	identifier = regexp.MustCompile("^[_a-zA-Z][_a-zA-Z0-9]*$")
	reserved   = sets.New("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function",
		"if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while")
)

// isIdentifier reports whether CEL accepts a name as an identifier.
func isIdentifier(name string) bool { return identifier.MatchString(name) && !reserved.Has(name) }
