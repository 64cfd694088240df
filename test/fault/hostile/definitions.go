package hostile

import (
	"fmt"
	"strings"
)

// definitionShapes are definitions of which one part multiplies with another.
var definitionShapes = []Shape{
	{"versions", 100, 10000, func(_ dice, size int) *Input { return versioned(same(preserving, size)).input() }},
	{"schemas x versions", 1000, 20000, func(d dice, size int) *Input {
		versions, properties := d.split(size)
		all := make([]string, versions)
		for n := range all {
			all[n] = schema(`"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},` +
				joined(numbers(properties), func(p int) string {
					return fmt.Sprintf(`"p%dx%d":{"type":"string","description":"%d"}`, n, p, p)
				}))
		}
		return versioned(all).input()
	}},
	{"equal schemas x versions", 1000, 20000, func(d dice, size int) *Input {
		versions, properties := d.split(size)
		return versioned(same(schema(`"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},`+
			joined(numbers(properties), func(p int) string { return fmt.Sprintf(`"p%d":{"type":"string"}`, p) })),
			versions)).input()
	}},
	{"selectable fields x versions", 100, 3000, func(_ dice, size int) *Input {
		fields := joined(numbers(8), func(n int) string { return fmt.Sprintf(`"s%d":{"type":"string"}`, n) })
		selectable := joined(numbers(8), func(n int) string { return fmt.Sprintf(`{"jsonPath":".s%d"}`, n) })
		c := versioned(same(`"selectableFields":[`+selectable+`],`+schema(fields), size))
		c.fields = `"s0":"a"`
		return c.input()
	}},
	{"categories x versions", 1000, 50000, func(d dice, size int) *Input {
		versions, names := d.split(size)
		c := versioned(same(preserving, versions))
		c.names = `,"categories":[` + joined(numbers(names), func(n int) string { return fmt.Sprintf(`"c%d"`, n) }) + `]`
		return c.input()
	}},
	{"short names x versions", 1000, 50000, func(d dice, size int) *Input {
		versions, names := d.split(size)
		c := versioned(same(preserving, versions))
		c.names = shortNames(names)
		return c.input()
	}},
	{"conditions x names", 100, 50000, func(d dice, size int) *Input {
		first := &definition{plural: "gadgets", names: shortNames(size), versions: same(preserving, 1)}
		second := &definition{plural: "widgets", names: shortNames(size), versions: same(preserving, 1+d.IntN(50))}
		at := definitions + "/widgets." + group
		create := Request{Method: "POST", Path: definitions, Body: second.body()}
		i := requests(nil,
			Phase{Name: "create both", Essential: true, Requests: []Request{
				{Method: "POST", Path: definitions, Body: first.body()}, create}},
			one("get", Request{Method: "GET", Path: at}),
			one("list as table", Request{Method: "GET", Path: definitions, Accept: asTable}),
			one("discovery", Request{Method: "GET", Path: "/apis/" + group + "/v1"}),
			one("conditions", Request{Method: "PATCH", Path: at + "/status", ContentType: asMergePatch,
				Body: []byte(`{"status":{"conditions":[` + joined(numbers(size), func(n int) string {
					return fmt.Sprintf(`{"type":"T%d","status":"True","reason":"R","message":"m"}`, n)
				}) + `]}}`)}),
			Phase{Name: "delete", Requests: []Request{{Method: "DELETE", Path: at}, {Method: "GET", Path: at, Until: 404},
				{Method: "DELETE", Path: definitions + "/gadgets." + group}}})
		i.Budget = floor + definitionFactor*2*create.Size()
		return i
	}},
	{"errors x versions", 500, 20000, func(d dice, size int) *Input {
		versions, errors := d.split(size)
		wrong := pick(d, `"p%d":{}`, `"p%d":{"type":"string","pattern":"("}`, `"p%d":{"type":"array"}`,
			`"p%d":{"type":"string","default":1}`)
		return versioned(same(schema(joined(numbers(errors), func(n int) string {
			return fmt.Sprintf(wrong, n)
		})), versions)).input()
	}},
	{"deep schema", 100, 3000, func(d dice, size int) *Input {
		before, after := `{"type":"object","properties":{"a":`, `}}`
		if d.IntN(2) == 0 {
			before, after = `{"type":"array","items":`, `}`
		}
		return withField(strings.Repeat(before, size)+`{"type":"string"}`+strings.Repeat(after, size), `null`)
	}},
	{"alternatives", 500, 20000, func(d dice, size int) *Input {
		logic := pick(d, "anyOf", "oneOf", "allOf")
		return withField(`{"type":"string","`+logic+`":[`+joined(numbers(size), func(n int) string {
			return fmt.Sprintf(`{"minLength":%d}`, n)
		})+`]}`, `"a"`)
	}},
	{"enumeration", 1000, 100000, func(_ dice, size int) *Input {
		return withField(`{"type":"string","enum":[`+joined(numbers(size), quoted)+`]}`, `"no"`)
	}},
	{"defaults", 200, 20000, func(d dice, size int) *Input {
		return withField(`{"type":"object","default":{},"properties":{`+joined(numbers(size), func(n int) string {
			return fmt.Sprintf(`"p%d":{"type":"string","default":"%s"}`, n, strings.Repeat("x", d.IntN(50)))
		})+`}}`, `{}`)
	}},
	{"nested defaults", 12, 20, func(_ dice, size int) *Input {
		field := `{"type":"string","default":"x"}`
		for range size {
			field = `{"type":"array","items":` + field + `,"default":[null,null]}`
		}
		return withField(field, `[]`)
	}},
	{"patterns", 100, 5000, func(d dice, size int) *Input {
		pattern := pick(d, `^[a-z]{1,63}(%d|[0-9]{1,20})*$`, `((a{1,10}){1,10}){1,10}%d$`, `[^\\x00]{900}%d`,
			`(?i)\\pL{200}%d`)
		return withField(`{"type":"object","properties":{`+joined(numbers(size), func(n int) string {
			return fmt.Sprintf(`"p%d":{"type":"string","pattern":"`+pattern+`"}`, n, n)
		})+`}}`, `{`+joined(numbers(size), func(n int) string { return fmt.Sprintf(`"p%d":"abc"`, n) })+`}`)
	}},
	{"rules", 20, 1000, func(d dice, size int) *Input {
		rule := pick(d, `self != %d`, `%d > 0 || self in [1,2,3,4,5,6,7,8,9]`, `string(self).matches('a{900}%d')`)
		return withField(`{"type":"integer","x-kubernetes-validations":[`+joined(numbers(size), func(n int) string {
			return fmt.Sprintf(`{"rule":"`+rule+`"}`, n)
		})+`]}`, `-1`)
	}},
	{"rules x versions", 100, 2000, func(d dice, size int) *Input {
		versions, rules := d.split(size)
		return versioned(same(schema(`"n":{"type":"integer","x-kubernetes-validations":[`+joined(numbers(rules),
			func(n int) string { return fmt.Sprintf(`{"rule":"self != %d"}`, n) })+`]}`), versions)).input()
	}},
	{"long rule", 100, 5000, func(_ dice, size int) *Input {
		return withField(`{"type":"integer","x-kubernetes-validations":[{"rule":"`+strings.Repeat("self > 0 && ", size)+
			`true"}]}`, `1`)
	}},
	{"descriptions x versions", 100 << 10, 2_000_000, func(d dice, size int) *Input {
		versions := 1 + d.IntN(100)
		return versioned(same(schema(`"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"description":"`+
			strings.Repeat("x", size/versions)+`"}`), versions)).input()
	}},
}

// shortNames returns JSON of short names.
func shortNames(n int) string {
	return `,"shortNames":[` + joined(numbers(n), func(n int) string { return fmt.Sprintf(`"s%d"`, n) }) + `]`
}

// withField returns an input of a definition with one field, and objects with a value of it.
func withField(field, value string) *Input {
	c := &definition{plural: "widgets", versions: []string{schema(`"field":` + field)}, fields: `"field":` + value}
	return c.input()
}
