package definitions

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/crds"
)

// repeated returns n items of a JSON list or object, separated by commas. A # in an item is its number.
func repeated(item string, n int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = strings.ReplaceAll(item, "#", fmt.Sprint(i))
	}
	return strings.Join(items, ",")
}

// nested returns a schema within n others.
func nested(before, after string, n int) string {
	return strings.Repeat(before, n) + `{"type":"string"}` + strings.Repeat(after, n)
}

// definitionOf returns a CRD. names is JSON that is added to its names. Each version is a name and JSON that is added
// to the version; all have the schema.
func definitionOf(t *testing.T, names, schema string, versions ...string) *apiextensions.CustomResourceDefinition {
	t.Helper()
	for n, more := range versions {
		versions[n] = fmt.Sprintf(`{"name":"v%d","served":true,"storage":%t%s,
"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":%s}}}}`, n+1, n == 0, more, schema)
	}
	text := `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"things.example.com","resourceVersion":"1"},
"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"things","kind":"Thing"` + names + `},
"versions":[` + strings.Join(versions, ",") + `]},
"status":{"storedVersions":["v1"]}}`
	served := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DecodeInto(crds.Codecs.UniversalDeserializer(), []byte(text), served); err != nil {
		t.Fatal(err)
	}
	crds.Scheme.Default(served)
	crd, err := crds.FromV1(served)
	if err != nil {
		t.Fatal(err)
	}
	return crd
}

// TestLimits checks each limit of CRDs: one is accepted that reaches it, and one is refused that exceeds it. A CRD that
// exceeds it already may be changed.
func TestLimits(t *testing.T) {
	t.Parallel()
	const text = `{"type":"string"}`
	column := func(path string) string {
		return `,"additionalPrinterColumns":[{"name":"c","type":"string","jsonPath":"` + path + `"}]`
	}
	properties := func(item string, n int) string {
		return `{"type":"object","properties":{` + repeated(item, n) + `}}`
	}
	rules := func(rule string, n int) string {
		return `{"type":"string","x-kubernetes-validations":[` + repeated(rule, n) + `]}`
	}
	for name, test := range map[string]struct {
		// make returns the CRD with a number of things, of which most is the largest that is accepted.
		make func(t *testing.T, n int) *apiextensions.CustomResourceDefinition
		most int
		want string
	}{
		"versions": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, "", text, make([]string, n)...)
		}, MaxVersions, "spec.versions: Too many: 101: must have at most 100 items"},
		"short names": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, `,"shortNames":[`+repeated(`"s#"`, n)+`]`, text, "")
		}, MaxNames, "spec.names.shortNames: Too many: 101: must have at most 100 items"},
		"categories": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, `,"categories":[`+repeated(`"c#"`, n)+`]`, text, "")
		}, MaxNames, "spec.names.categories: Too many: 101: must have at most 100 items"},
		"columns": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, "", text, `,"additionalPrinterColumns":[`+
				repeated(`{"name":"c#","type":"string","jsonPath":".spec"}`, n)+`]`)
		}, MaxColumns, "spec.additionalPrinterColumns: Too many: 201: must have at most 200 items"},
		"long paths": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, "", text, column("."+strings.Repeat("a", n-1)))
		}, MaxPathLength, "spec.additionalPrinterColumns[0].jsonPath: Too long: may not be more than 1000 bytes"},
		"recursive descents": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, "", text, column(".spec"+strings.Repeat("..a", n)))
		}, 1, "must have at most one recursive descent, range or union, and a union at most 8 members"},
		"unions": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, "", text, column(".spec"+strings.Repeat("['a','a']", n)))
		}, 1, "must have at most one recursive descent"},
		"union members": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, "", text, column(".spec["+repeated("*", n)+"]"))
		}, maxMembers, "must have at most one recursive descent"},
		"ranges in filters": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, "", text, column(".spec"+strings.Repeat("[?(@..a==1)]", n)))
		}, 1, "must have at most one recursive descent"},
		"shared bytes": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, "", `{"type":"string","description":"`+strings.Repeat("x", 64<<10)+`"}`, make([]string, n)...)
		}, 47, "must have at most 3145728 bytes with what all versions share in each of them"},
		"schemas": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, "", properties(`"p#":{"type":"string"}`, n-2), "")
		}, MaxSchemas, "spec.validation.openAPIV3Schema: Invalid value: 120001: " +
			"must have at most 120000 schemas in all versions together"},
		"branches": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, "", `{"type":"string","oneOf":[`+repeated(`{}`, n)+`]}`, "")
		}, MaxBranches, "must have at most 6000 schemas in allOf, anyOf, oneOf and not"},
		"defaults": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, "", properties(`"p#":{"type":"string","default":"a"}`, n), "")
		}, MaxDefaults, "must have at most 7500 defaults in all versions together"},
		"enumerations": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, "", `{"type":"string","enum":[`+repeated(`"#"`, n)+`]}`, "")
		}, MaxEnum, "must have at most 20000 values in enumerations"},
		"depth": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, "", nested(`{"type":"array","items":`, `}`, n-2), "")
		}, MaxDepth, "must nest at most 250 schemas"},
		"nested rules": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			const begin = `{"type":"object","x-kubernetes-validations":[{"rule":"true"}],"properties":{"a":`
			return definitionOf(t, "", nested(begin, `}}`, n), "")
		}, MaxNesting, "must nest at most 80 schemas with x-kubernetes-validations"},
		"nested defaults": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, "", nested(`{"type":"object","default":{},"properties":{"a":`, `}}`, n), "")
		}, MaxNesting, "must nest at most 80 schemas with defaults"},
		"rules of equal versions": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, "", rules(`{"rule":"true"}`, n), "", "")
		}, MaxRules / 2, "Invalid value: 2202: must have at most 2200 x-kubernetes-validations in all versions together"},
		"text of rules": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, "", rules(`{"rule":"`+strings.Repeat(" ", n-4)+`true"}`, 1), "")
		}, MaxRuleText, "must have x-kubernetes-validations of at most 262144 bytes"},
		"patterns": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, "", properties(`"p#":{"type":"string","pattern":"b(a{500}){2}"}`, n), "")
		}, 124, "must have patterns of at most 125000 instructions"},
		"levels": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			wide := `{"type":"object","properties":{` + repeated(`"p#":{"type":"string"}`, n) + `}}`
			return definitionOf(t, "", strings.Repeat(`{"type":"array","items":`, 198)+wide+strings.Repeat(`}`, 198), "")
		}, 6865, "must have at most 1400000 levels around all schemas"},
		"schemas below rules": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			const begin = `{"type":"object","x-kubernetes-validations":[{"rule":"true"}],"properties":{"a":`
			wide := properties(`"p#":{"type":"string"}`, n)
			return definitionOf(t, "", strings.Repeat(begin, 40)+wide+strings.Repeat(`}}`, 40), "")
		}, 2478, "must have at most 100000 schemas below all schemas with x-kubernetes-validations"},
		"schemas below defaults": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			const begin = `{"type":"object","default":{},"properties":{"a":`
			wide := properties(`"p#":{"type":"string"}`, n)
			return definitionOf(t, "", strings.Repeat(begin, 40)+wide+strings.Repeat(`}}`, 40), "")
		}, 2478, "must have at most 100000 schemas below all schemas with defaults"},
		"rules below defaults": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			const begin = `{"type":"object","default":{},"properties":{"a":`
			return definitionOf(t, "", strings.Repeat(begin, 50)+rules(`{"rule":"true"}`, n)+strings.Repeat(`}}`, 50), "")
		}, 100, "must have at most 5000 x-kubernetes-validations below all schemas with defaults"},
		"schemas below rules with a fieldPath": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			return definitionOf(t, "", `{"type":"object","x-kubernetes-validations":[`+
				repeated(`{"rule":"true","fieldPath":".p#"}`, 10)+`],"properties":{`+repeated(`"p#":{"type":"string"}`, n)+`}}`, "")
		}, 9999, "must have at most 100000 schemas below all x-kubernetes-validations with a fieldPath"},
		"map keys": {func(t *testing.T, n int) *apiextensions.CustomResourceDefinition {
			keys := repeated(`"k#"`, n)
			return definitionOf(t, "", `{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":[`+keys+`],
"items":{"type":"object","required":[`+keys+`],"properties":{`+repeated(`"k#":{"type":"string"}`, n)+`}}}`, "")
		}, MaxListMapKeys, "must have at most 100 x-kubernetes-list-map-keys in a list"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := NewStrategy()
			if errs := limitErrors(test.make(t, test.most)); len(errs) > 0 {
				t.Errorf("%.300s", errs.ToAggregate())
			}
			crd := test.make(t, test.most+1)
			errs := rules.Validate(t.Context(), crd)
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), test.want) {
				t.Errorf("got %.500v, want %s", errs, test.want)
			}
		})
	}
}

// TestExceededLimits checks that a CRD which exceeds a limit already may be changed: another server has written it.
func TestExceededLimits(t *testing.T) {
	t.Parallel()
	const text = `{"type":"string"}`
	few, many := definitionOf(t, "", text, ""), definitionOf(t, "", text, make([]string, MaxVersions+1)...)
	rules, status := NewStrategy(), NewStatusStrategy()
	if errs := rules.ValidateUpdate(t.Context(), many, few); len(errs) != 1 || errs[0].Type != field.ErrorTypeTooMany {
		t.Errorf("got %v", errs)
	}
	for _, err := range rules.ValidateUpdate(t.Context(), many, many.DeepCopy()) {
		if err.Type == field.ErrorTypeTooMany {
			t.Errorf("got %v", err)
		}
	}
	named := few.DeepCopy()
	named.Status.AcceptedNames.Categories = make([]string, MaxNames+1)
	if errs := status.ValidateUpdate(t.Context(), named, few); len(errs) != 1 ||
		errs[0].Field != "status.acceptedNames.categories" {
		t.Errorf("got %v", errs)
	}
}

// TestRealPatterns checks that patterns like those of ingresses.config.openshift.io are accepted: it repeats character
// classes of a thousand runes, which take memory once.
func TestRealPatterns(t *testing.T) {
	t.Parallel()
	const hostname = `^([a-zA-Z0-9\\p{S}\\p{L}]((-?[a-zA-Z0-9\\p{S}\\p{L}]{0,62})?)|([a-zA-Z0-9\\p{S}\\p{L}]` +
		`(([a-zA-Z0-9-\\p{S}\\p{L}]{0,61}[a-zA-Z0-9\\p{S}\\p{L}])?)(\\.)){1,}([a-zA-Z\\p{L}]){2,63})$|` +
		`^(([a-z0-9][-a-z0-9]{0,61}[a-z0-9]|[a-z0-9]{1,63})[\\.]){0,}([a-z0-9][-a-z0-9]{0,61}[a-z0-9]|[a-z0-9]{1,63})$`
	properties := repeated(`"p#":{"type":"string","pattern":"`+hostname+`"}`, 3)
	crd := definitionOf(t, "", `{"type":"object","properties":{`+properties+`}}`, "")
	if errs := NewStrategy().Validate(t.Context(), crd); len(errs) > 0 {
		t.Errorf("%.500v", errs)
	}
}

// TestExpressionPatterns checks the sizes of the patterns in rules.
func TestExpressionPatterns(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]int{
		"self == 'a{100}'": 0, "self.matches('a{100}')": 100, "self.all(x, x.find('a{100}') == '')": 100, "self.matches(": 0,
		"self.matches(self)": 0,
	} {
		if got := expressionPatterns(expression); got != want {
			t.Errorf("%s: got %d, want %d", expression, got, want)
		}
	}
}
