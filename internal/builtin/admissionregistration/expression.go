package admissionregistration

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	policy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// stored are the expressions of the object before an update. They are compiled in the environment of stored
// expressions, which has everything that any version of the API server has allowed.
type stored sets.Set[string]

func (s stored) environment(expression string) environment.Type {
	if sets.Set[string](s).Has(expression) {
		return environment.StoredExpressions
	}
	return environment.NewExpressions
}

// stateless compiles expressions that use no variables of a policy.
var stateless = sync.OnceValue(func() plugincel.Compiler {
	return plugincel.NewCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
})

// compiler compiles the expressions of one policy, of which later ones may use the variables.
type compiler struct {
	plugincel.Compiler
	// composed declares variables. It is nil for a policy without.
	composed  *plugincel.CompositedCompiler
	hasParams bool
}

// newCompiler returns the compiler of a policy. composed says whether the policy may have variables.
func newCompiler(composed, hasParams bool) (compiler, error) {
	if !composed {
		return compiler{Compiler: stateless(), hasParams: hasParams}, nil
	}
	c, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	return compiler{c, c, hasParams}, err
}

// check compiles an expression.
func (c compiler) check(e plugincel.ExpressionAccessor, o check, path *field.Path) field.ErrorList {
	declared := plugincel.OptionalVariableDeclarations{
		HasParams: c.hasParams, HasAuthorizer: !o.noAuthorizer, HasPatchTypes: o.patches,
	}
	return compileError(c.CompileCELExpression(e, declared, o.environment).Error, e.GetExpression(), path)
}

// check says what an expression may use.
type check struct {
	environment           environment.Type
	noAuthorizer, patches bool
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

const maxMatchConditions = 64

// conditions are the match conditions of a webhook or a policy.
type conditions struct {
	list      []admissionregistrationv1.MatchCondition
	hasParams bool
	before    stored
}

func (c conditions) validate(path *field.Path) (errs field.ErrorList) {
	if len(c.list) > maxMatchConditions {
		errs = append(errs, field.TooMany(path, len(c.list), maxMatchConditions))
	}
	names := sets.New[string]()
	for n := range c.list {
		condition, at := &c.list[n], path.Index(n)
		errs = append(errs, c.validateOne(condition, at)...)
		if condition.Name != "" && names.Has(condition.Name) {
			errs = append(errs, field.Duplicate(at.Child("name"), condition.Name))
		}
		names.Insert(condition.Name)
	}
	return errs
}

func (c conditions) validateOne(m *admissionregistrationv1.MatchCondition, path *field.Path) (errs field.ErrorList) {
	if expression := strings.TrimSpace(m.Expression); expression == "" {
		errs = append(errs, field.Required(path.Child("expression"), ""))
	} else {
		errs = append(errs, compiler{Compiler: stateless(), hasParams: c.hasParams}.check(
			&matchconditions.MatchCondition{Expression: expression},
			check{environment: c.before.environment(expression)}, path.Child("expression"))...)
	}
	if m.Name == "" {
		return append(errs, field.Required(path.Child("name"), ""))
	}
	return append(errs, validateQualifiedName(m.Name, path.Child("name"))...)
}

func validateQualifiedName(name string, path *field.Path) field.ErrorList {
	return rules.Messages(path, name, utilvalidation.IsQualifiedName(name))
}

// validateVariable also declares the variable for the expressions that are compiled after it.
func (c compiler) validateVariable(
	v *admissionregistrationv1.Variable, before stored, path *field.Path,
) (errs field.ErrorList) {
	switch {
	case strings.TrimSpace(v.Name) == "":
		errs = append(errs, field.Required(path.Child("name"), "name is not specified"))
	case !isIdentifier(v.Name):
		errs = append(errs, field.Invalid(path.Child("name"), v.Name, "must be a valid CEL identifier"))
	}
	if strings.TrimSpace(v.Expression) == "" {
		return append(errs, field.Required(path.Child("expression"), "expression is not specified"))
	}
	declared := plugincel.OptionalVariableDeclarations{HasParams: c.hasParams, HasAuthorizer: true}
	result := c.composed.CompileAndStoreVariable(
		&policy.Variable{Name: v.Name, Expression: v.Expression}, declared, before.environment(v.Expression))
	return append(errs, compileError(result.Error, v.Expression, path.Child("expression"))...)
}

var (
	identifier = regexp.MustCompile("^[_a-zA-Z][_a-zA-Z0-9]*$")
	reserved   = sets.New("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function",
		"if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while")
)

// isIdentifier reports whether CEL accepts a name as an identifier.
func isIdentifier(name string) bool { return identifier.MatchString(name) && !reserved.Has(name) }

// errCompiler is the error of a policy whose compiler could not be made.
func errCompiler(err error, path *field.Path) field.ErrorList {
	return field.ErrorList{field.InternalError(path, fmt.Errorf("prepare to compile expressions: %w", err))}
}
