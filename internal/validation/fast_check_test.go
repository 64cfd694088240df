package validation

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
)

// choices makes decisions from bytes, so that fuzzing varies the generated schemas and values. After the last byte
// every decision is the first option.
type choices []byte

func randomChoices(random *rand.Rand) *choices {
	c := make(choices, 200)
	for i := range c {
		c[i] = byte(random.Uint32())
	}
	return &c
}

// among returns a number below n.
func (c *choices) among(n int) int {
	if len(*c) == 0 {
		return 0
	}
	chosen := int((*c)[0]) % n
	*c = (*c)[1:]
	return chosen
}

// once returns true once in n times.
func (c *choices) once(n int) bool {
	return c.among(n) == n-1
}

func choose[T any](c *choices, of []T) T {
	return of[c.among(len(of))]
}

var (
	schemaNames   = []string{"a", "b", "c", "name"}
	schemaTypes   = []string{"object", "array", "string", "integer", "number", "boolean", "", "null", "absurd"}
	schemaFormats = []string{"date-time", "date", "int32", "int64", "float", "double", "byte", "ipv4", "uuid",
		"duration", "absurd", "k8s-short-name"}
	schemaNumbers = []float64{0, 1, 2, 5, 65, 0.5, -1, 1e10, -1e300}
	schemaCounts  = []int64{0, 1, 2, 3, -1}
	schemaTexts   = []string{"", "a", "b", "ab", "A", "ä", "2026-01-01", "2026-01-01T00:00:00Z", "1s", "10.0.0.1",
		"YQ==", "x_y"}
	schemaEnum = []any{"a", "b", "A", "", int64(1), int64(65), 1.0, 0.5, true, nil, []any{"a"},
		map[string]any{"a": "b"}}
	schemaValues = []any{nil, true, false, int64(0), int64(1), int64(2), int64(65), int64(-3), int64(1) << 40,
		int64(math.MaxInt64), 0.0, 1.0, 0.5, 1e10, 1e300, -1e39, 1 + 1e-12, float64(1 << 60)}
)

// schema generates a schema, usually a structural one.
func (c *choices) schema(depth int) apiextensionsv1.JSONSchemaProps {
	s := apiextensionsv1.JSONSchemaProps{Type: choose(c, schemaTypes)}
	if depth <= 0 && (s.Type == "object" || s.Type == "array") {
		s.Type = "string"
	}
	s.Nullable = c.once(5)
	if c.once(6) {
		s.Default = &apiextensionsv1.JSON{Raw: mustJSON(choose(c, schemaEnum))}
	}
	if c.once(10) {
		preserve := true
		s.XPreserveUnknownFields = &preserve
	}
	s.XEmbeddedResource = s.Type == "object" && c.once(10)
	if s.Type == "array" && c.once(2) {
		s.XListType = &[]string{"set", "map", "map", "atomic"}[c.among(4)]
		s.XListMapKeys = [][]string{{"a"}, {"a", "b"}}[c.among(2)]
	}
	if c.once(12) {
		s.XIntOrString = true
	}
	if c.once(4) {
		s.Format = choose(c, schemaFormats)
	}
	if c.once(6) {
		for range 1 + c.among(3) {
			s.Enum = append(s.Enum, apiextensionsv1.JSON{Raw: mustJSON(choose(c, schemaEnum))})
		}
	}
	c.limits(&s)
	if depth > 0 {
		c.nested(&s, depth)
		c.logic(&s, depth)
	}
	if c.once(60) {
		s.UniqueItems = true
	}
	return s
}

func mustJSON(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return data
}

func (c *choices) limits(s *apiextensionsv1.JSONSchemaProps) {
	for _, limit := range []**float64{&s.Minimum, &s.Maximum, &s.MultipleOf} {
		if c.once(6) {
			number := choose(c, schemaNumbers)
			*limit = &number
		}
	}
	s.ExclusiveMinimum, s.ExclusiveMaximum = c.once(3), c.once(3)
	for _, limit := range []**int64{&s.MinLength, &s.MaxLength, &s.MinItems, &s.MaxItems, &s.MinProperties,
		&s.MaxProperties} {
		if c.once(8) {
			count := choose(c, schemaCounts)
			*limit = &count
		}
	}
	if c.once(8) {
		s.Pattern = choose(c, []string{"^[a-z]+$", "b", "^.$", "(", "[0-9]"})
	}
}

func (c *choices) nested(s *apiextensionsv1.JSONSchemaProps, depth int) {
	if s.Type == "object" || c.once(6) {
		for range c.among(4) {
			if s.Properties == nil {
				s.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
			}
			s.Properties[choose(c, schemaNames)] = c.schema(depth - 1)
		}
		if c.once(3) {
			s.Required = append(s.Required, choose(c, schemaNames))
		}
		if c.once(3) {
			nested := c.schema(depth - 1)
			s.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &nested}
		}
		if c.once(100) {
			s.PatternProperties = map[string]apiextensionsv1.JSONSchemaProps{"^a": c.schema(depth - 1)}
		}
	}
	if s.Type == "array" || c.once(6) {
		nested := c.schema(depth - 1)
		s.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &nested}
	}
}

func (c *choices) logic(s *apiextensionsv1.JSONSchemaProps, depth int) {
	for _, branches := range []*[]apiextensionsv1.JSONSchemaProps{&s.AllOf, &s.AnyOf, &s.OneOf} {
		if c.once(8) {
			for range 1 + c.among(3) {
				*branches = append(*branches, c.branch(depth-1))
			}
		}
	}
	if c.once(10) {
		not := c.branch(depth - 1)
		s.Not = &not
	}
}

// branch generates a schema for anyOf and the like, usually a small one.
func (c *choices) branch(depth int) apiextensionsv1.JSONSchemaProps {
	if c.once(3) {
		return c.schema(depth)
	}
	return apiextensionsv1.JSONSchemaProps{Required: []string{choose(c, schemaNames)}}
}

// value generates a value, usually one that fits the schema.
func (c *choices) value(s *apiextensionsv1.JSONSchemaProps, depth int) any {
	if c.once(10) {
		s = &apiextensionsv1.JSONSchemaProps{Type: choose(c, schemaTypes)}
	}
	if len(s.Enum) > 0 && !c.once(4) {
		var value apiextensions.JSON
		_ = apiextensionsv1.Convert_v1_JSON_To_apiextensions_JSON(&s.Enum[c.among(len(s.Enum))], &value, nil)
		return value
	}
	switch s.Type {
	case "object":
		return c.object(s, depth)
	case "array":
		list, items := []any{}, &apiextensionsv1.JSONSchemaProps{Type: "string"}
		if s.Items != nil && s.Items.Schema != nil {
			items = s.Items.Schema
		}
		for range c.among(3) {
			list = append(list, c.value(items, depth-1))
		}
		return list
	case "string":
		return choose(c, schemaTexts)
	}
	return choose(c, schemaValues)
}

func (c *choices) object(s *apiextensionsv1.JSONSchemaProps, depth int) any {
	fields := map[string]any{}
	for _, name := range schemaNames {
		property, ok := s.Properties[name]
		switch {
		case ok && !c.once(4):
			fields[name] = c.value(&property, depth-1)
		case slices.Contains(s.Required, name) || c.once(6):
			fields[name] = choose(c, schemaTexts)
		}
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil && c.once(2) {
		fields["additional"] = c.value(s.AdditionalProperties.Schema, depth-1)
	}
	return fields
}

func internalSchema(t testing.TB, s *apiextensionsv1.JSONSchemaProps) *apiextensions.JSONSchemaProps {
	t.Helper()
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(s, internal,
		nil); err != nil {
		t.Fatal(err)
	}
	return internal
}

// libraryValid asks the library whether a value is valid.
func libraryValid(t testing.TB, s *apiextensionsv1.JSONSchemaProps, value any) bool {
	t.Helper()
	validator, _, err := apiservervalidation.NewSchemaValidator(internalSchema(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return len(apiservervalidation.ValidateCustomResource(nil, value, validator)) == 0
}

// compareCheck compares the verdict of a node on a random value of a random schema with that of the library, and
// returns both.
func compareCheck(t testing.TB, c *choices) (verdict, bool) {
	t.Helper()
	s := c.schema(3)
	value := c.value(&s, 3)
	structural, err := structuralschema.NewStructural(internalSchema(t, &s))
	if err != nil {
		return unknown, false // the library checks schemas that are not structural
	}
	got, want := compileNode(structural).check(newVisit(t.Context()), value), libraryValid(t, &s, value)
	if got == valid && !want || got == invalid && want {
		text, _ := json.Marshal(s)
		t.Fatalf("schema %s\nvalue %#v\nthe node says %d, the library %t", text, value, got, want)
	}
	return got, want
}

// TestCheckAgainstLibrary compares verdicts on random values of random schemas with the library.
func TestCheckAgainstLibrary(t *testing.T) {
	t.Parallel()
	rounds := 20_000
	if testing.Short() {
		rounds = 5_000
	}
	random := rand.New(rand.NewPCG(3, 4))
	var validOnes, seen, known int
	for range rounds {
		got, want := compareCheck(t, randomChoices(random))
		if got != unknown {
			known++
		}
		if want {
			validOnes++
			if got == valid {
				seen++
			}
		}
	}
	t.Logf("%d rounds, %d verdicts, %d valid, %d of them seen", rounds, known, validOnes, seen)
	if validOnes < rounds/4 || seen < validOnes*8/10 {
		t.Errorf("of %d values %d are valid, of which %d were seen to be", rounds, validOnes, seen)
	}
}

func FuzzCheck(f *testing.F) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		f.Add([]byte(*randomChoices(random)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := choices(data)
		compareCheck(t, &c)
	})
}

// TestCheckKnowsOrdinaryObjects tests that the check of valid objects of ordinary CRDs does not need the library.
func TestCheckKnowsOrdinaryObjects(t *testing.T) {
	t.Parallel()
	for _, c := range benchCases(t) {
		if got := compileFast(t,
			newSet(c.crd).Version(c.crd.Spec.Versions[0].Name)).root.check(newVisit(t.Context()), c.obj.Object); got != valid {
			t.Errorf("%s: verdict %d", c.name, got)
		}
	}
}

// compileFast returns the fastSchema of a version, with and without the tag library.
func compileFast(t testing.TB, v *Version) *fastSchema {
	t.Helper()
	structural, err := v.Structural()
	if err != nil {
		t.Fatal(err)
	}
	return newFastSchema(librarySchema{version: v, structural: structural})
}
