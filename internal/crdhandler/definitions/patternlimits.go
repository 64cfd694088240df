package definitions

import (
	"strings"

	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/crd-server/crd-server/internal/validation"
)

// MaxInstructions bounds the programs of all patterns of a CRD, in all versions together (C10), as
// validation.PatternSize counts them. See docs/upstream.md, "Compiled patterns are kept for ever" and "The environment
// of rules is fixed".
const MaxInstructions = 125_000

// regexFunctions are the functions of CEL whose constant patterns are compiled together with their rule.
var regexFunctions = []string{"matches", "find", "findAll"}

// expressionPatterns returns the size of the constant patterns in an expression, 0 if it cannot be parsed.
func expressionPatterns(expression string) int {
	if !strings.Contains(expression, "matches") && !strings.Contains(expression, "find") || len(expression) > MaxRuleText {
		return 0
	}
	env := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv()
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return 0
	}
	n := 0
	celast.PreOrderVisit(parsed.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		n += callPatterns(e)
	}))
	return n
}

// callPatterns returns the size of the constant pattern that a call has, if it has one.
func callPatterns(e celast.Expr) int {
	if e.Kind() != celast.CallKind {
		return 0
	}
	n := 0
	for _, name := range regexFunctions {
		if e.AsCall().FunctionName() != name {
			continue
		}
		for _, argument := range e.AsCall().Args() {
			if argument.Kind() != celast.LiteralKind {
				continue
			}
			if pattern, ok := argument.AsLiteral().(types.String); ok {
				n += validation.PatternSize(string(pattern))
			}
		}
	}
	return n
}
