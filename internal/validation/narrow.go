package validation

import (
	"strings"

	"github.com/google/cel-go/common/ast"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// narrow takes from the schemas by which rules see values the properties that no rule looks at. The library goes through all
// properties of an object twice whenever a rule reads one of them.
func narrow(v *cel.Validator, root bool) {
	if v == nil {
		return
	}
	if used, ok := usedBy(v.Schema); ok {
		if root || v.Schema.XEmbeddedResource {
			// The library adds these for every value where they are missing.
			used["kind"], used["apiVersion"], used["metadata"] = nil, nil, nil
			v.Schema = model.WithTypeAndObjectMeta(v.Schema)
		}
		v.Schema = used.of(v.Schema)
	}
	narrow(v.Items, false)
	narrow(v.AdditionalProperties, false)
	for name := range v.Properties {
		property := v.Properties[name]
		narrow(&property, false)
		v.Properties[name] = property
	}
}

// fieldUse holds the fields of an object that are read, and of these in turn; nil stands for all of a value.
type fieldUse map[string]fieldUse

// usedBy returns the fields of self and oldSelf that the rules of a schema read. ok is false when that cannot be told, or is all
// there is.
func usedBy(s *structuralschema.Structural) (used fieldUse, ok bool) {
	if len(s.XValidations) == 0 || len(s.Properties) == 0 {
		return nil, false
	}
	used = fieldUse{}
	for _, rule := range s.XValidations {
		for _, expression := range []string{rule.Rule, rule.MessageExpression} {
			if strings.TrimSpace(expression) != "" && !used.addExpression(expression) {
				return nil, false
			}
		}
	}
	return used, true
}

func (u fieldUse) addExpression(expression string) bool {
	env := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv()
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return false
	}
	selves := ast.MatchDescendants(ast.NavigateAST(parsed.NativeRep()), func(e ast.NavigableExpr) bool {
		if e.Kind() != ast.IdentKind {
			return false
		}
		name := strings.TrimPrefix(e.AsIdent(), ".")
		return name == cel.ScopedVarName || name == cel.OldScopedVarName
	})
	for _, self := range selves {
		if !u.addPath(fieldPath(self)) {
			return false
		}
	}
	return true
}

// fieldPath returns the fields that are selected from a value one after the other.
func fieldPath(e ast.NavigableExpr) (path []string) {
	for {
		parent, ok := e.Parent()
		if !ok || parent.Kind() != ast.SelectKind {
			return path
		}
		path = append(path, parent.AsSelect().FieldName())
		e = parent
	}
}

// addPath adds the field that a path leads to. It fails when that is the whole value, or names no field.
func (u fieldUse) addPath(path []string) bool {
	if len(path) == 0 {
		return false
	}
	name, ok := apiservercel.Unescape(path[0])
	if !ok {
		return false
	}
	deeper, seen := u[name]
	switch {
	case seen && deeper == nil:
	case !seen:
		deeper = fieldUse{}
		fallthrough
	default:
		if !deeper.addPath(path[1:]) {
			deeper = nil
		}
		u[name] = deeper
	}
	return true
}

// of returns a schema with nothing but the used properties. It has at least one, since objects without any are seen as
// something else; what is used whole is shared with s.
func (u fieldUse) of(s *structuralschema.Structural) *structuralschema.Structural {
	narrowed := *s
	narrowed.Properties = make(map[string]structuralschema.Structural, len(u))
	for name, deeper := range u {
		property, ok := s.Properties[name]
		switch {
		case !ok:
		case deeper == nil:
			narrowed.Properties[name] = property
		default:
			narrowed.Properties[name] = *deeper.of(&property)
		}
	}
	if len(narrowed.Properties) == 0 {
		return s
	}
	return &narrowed
}
