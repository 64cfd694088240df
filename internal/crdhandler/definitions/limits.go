package definitions

import (
	"encoding/json"
	"fmt"
	"strings"

	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/client-go/util/jsonpath"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/validation"
)

// The limits of a CRD (C10). kube-apiserver has none of them: there a small CRD can take gigabytes, because its parts
// multiply with each other. With them, a CRD takes memory in proportion to its size.
const (
	// MaxVersions bounds what every version takes: paths and documents in discovery and OpenAPI, series of metrics.
	MaxVersions = 100
	// MaxNames bounds the short names, and the categories. Discovery repeats them for every version.
	MaxNames = 100
	// MaxColumns bounds the printer columns of a version. Each is evaluated for every object of a Table.
	MaxColumns = 200
	// MaxPathLength bounds the JSONPaths of columns and of the scale subresource. Parsing one takes stack for every step.
	MaxPathLength = 1000
	// MaxBytes is the size of a CRD in v1. It is that of the largest body of a request.
	MaxBytes = 3 << 20
)

// limitErrors returns the limits that a CRD exceeds. It returns early, so that little work is done for a hostile CRD.
func limitErrors(crd *apiextensions.CustomResourceDefinition) field.ErrorList {
	spec, path := &crd.Spec, field.NewPath("spec")
	errs := nameErrors(&spec.Names, path.Child("names"))
	errs = append(errs, statusErrors(crd)...)
	if n := len(spec.Versions); n > MaxVersions {
		errs = append(errs, field.TooMany(path.Child("versions"), n, MaxVersions))
	}
	if len(errs) > 0 {
		return errs
	}
	schemas := schemaSize{}
	common := versionParts{spec.Validation, spec.AdditionalPrinterColumns, spec.Subresources}
	errs = common.errors(&schemas, len(spec.Versions), path, path.Child("validation"))
	for n := 0; n < len(spec.Versions) && len(errs) == 0; n++ {
		version, path := &spec.Versions[n], path.Child("versions").Index(n)
		parts := versionParts{version.Schema, version.AdditionalPrinterColumns, version.Subresources}
		errs = parts.errors(&schemas, 1, path, path.Child("schema"))
	}
	if len(errs) > 0 {
		return errs
	}
	return sizeErrors(crd)
}

// statusErrors returns the limits that the status exceeds.
func statusErrors(crd *apiextensions.CustomResourceDefinition) field.ErrorList {
	return nameErrors(&crd.Status.AcceptedNames, field.NewPath("status", "acceptedNames"))
}

// sizeErrors returns an error if the CRD is larger than MaxBytes with the parts that its versions share in each of
// them. The CRD is stored without the repetition, so that many patches could make it as large.
func sizeErrors(crd *apiextensions.CustomResourceDefinition) field.ErrorList {
	versions := crd.Spec.Versions
	spec := &crd.Spec
	shared := spec.Validation != nil || len(spec.AdditionalPrinterColumns) > 0 || len(spec.SelectableFields) > 0
	if len(versions) < 2 || !shared {
		return nil
	}
	first := *crd
	first.Spec.Versions = versions[:1]
	served, err := crds.ToV1(&first)
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	encoded, err := json.Marshal(&served.Spec.Versions[0])
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	if n := len(encoded) * len(versions); n > MaxBytes {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "versions"), n,
			fmt.Sprintf("must have at most %d bytes with what all versions share in each of them", MaxBytes))}
	}
	return nil
}

// versionParts are the parts of one version, or those that all versions share.
type versionParts struct {
	schema       *apiextensions.CustomResourceValidation
	columns      []apiextensions.CustomResourceColumnDefinition
	subresources *apiextensions.CustomResourceSubresources
}

// errors returns the limits that the parts of some versions exceed, together with those in schemas.
func (p *versionParts) errors(schemas *schemaSize, versions int, path, schema *field.Path) field.ErrorList {
	errs := columnErrors(p.columns, path.Child("additionalPrinterColumns"))
	errs = append(errs, scaleErrors(p.subresources, path.Child("subresources", "scale"))...)
	return append(errs, schemas.check(p.schema, versions, schema)...)
}

func nameErrors(names *apiextensions.CustomResourceDefinitionNames, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if n := len(names.ShortNames); n > MaxNames {
		errs = append(errs, field.TooMany(path.Child("shortNames"), n, MaxNames))
	}
	if n := len(names.Categories); n > MaxNames {
		errs = append(errs, field.TooMany(path.Child("categories"), n, MaxNames))
	}
	return errs
}

func columnErrors(columns []apiextensions.CustomResourceColumnDefinition, path *field.Path) field.ErrorList {
	if n := len(columns); n > MaxColumns {
		return field.ErrorList{field.TooMany(path, n, MaxColumns)}
	}
	var errs field.ErrorList
	for n := range columns {
		errs = append(errs, pathErrors(columns[n].JSONPath, path.Index(n).Child("jsonPath"))...)
	}
	return errs
}

func scaleErrors(subresources *apiextensions.CustomResourceSubresources, path *field.Path) field.ErrorList {
	if subresources == nil || subresources.Scale == nil {
		return nil
	}
	scale := subresources.Scale
	errs := lengthErrors(scale.SpecReplicasPath, path.Child("specReplicasPath"), MaxPathLength)
	errs = append(errs, lengthErrors(scale.StatusReplicasPath, path.Child("statusReplicasPath"), MaxPathLength)...)
	if selector := scale.LabelSelectorPath; selector != nil {
		errs = append(errs, lengthErrors(*selector, path.Child("labelSelectorPath"), MaxPathLength)...)
	}
	return errs
}

func lengthErrors(text string, path *field.Path, most int) field.ErrorList {
	if len(text) <= most {
		return nil
	}
	return field.ErrorList{field.TooLong(path, text, most)}
}

// maxMembers is the number of members that a union in a JSONPath may have.
const maxMembers = 8

// pathErrors returns an error unless the JSONPath of a column is short, and its evaluation visits every value of an
// object a few times only. Recursive descents, ranges and unions multiply with each other: "['a','a']" thirty times is
// evaluated to a billion values.
func pathErrors(text string, path *field.Path) field.ErrorList {
	if errs := lengthErrors(text, path, MaxPathLength); len(errs) > 0 {
		return errs
	}
	parsed, err := jsonpath.Parse("", "{"+text+"}")
	if err != nil {
		return nil // as in kube-apiserver, Tables have the default columns
	}
	if n := repetitions(parsed.Root); n > 1 || len(parsed.Root.Nodes) > maxMembers {
		return field.ErrorList{field.Invalid(path, text,
			fmt.Sprintf("must have at most one recursive descent, range or union, and a union at most %d members", maxMembers))}
	}
	return nil
}

// repetitions counts the nodes below a node that may select a value more than once.
func repetitions(node jsonpath.Node) int {
	switch node := node.(type) {
	case *jsonpath.ListNode:
		n := 0
		for _, child := range node.Nodes {
			n += repetitions(child)
		}
		return n
	case *jsonpath.FilterNode:
		return repetitions(node.Left) + repetitions(node.Right)
	case *jsonpath.RecursiveNode:
		return 1
	case *jsonpath.IdentifierNode:
		if node.Name == "range" {
			return 1
		}
	case *jsonpath.UnionNode:
		n := 1
		if len(node.Nodes) > maxMembers {
			n = 2
		}
		for _, member := range node.Nodes {
			n += repetitions(member)
		}
		return n
	}
	return 0
}

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
