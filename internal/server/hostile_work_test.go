//go:build !library && !race

package server

import (
	"strings"
)

// hostileWork returns requests whose work grows faster than their size.
func hostileWork() []hostileRequest {
	metadata := func(fields string) string {
		return strings.Replace(hostileObject("thing", `"free":{}`), `"name"`, fields+`,"name"`, 1)
	}
	nested := func(levels int, inner string) string {
		return strings.Repeat(`{"level":`, levels) + inner + strings.Repeat("}", levels)
	}
	owners := func(format string, n int) string { return metadata(`"ownerReferences":[` + list(format, n) + `]`) }
	entries := func(n int, fields string) string {
		return metadata(`"managedFields":[` + list(
			`{"manager":"m%d","operation":"Update","apiVersion":"hostile.example.com/v1",`+
				`"fieldsType":"FieldsV1","fieldsV1":{`+fields+`}}`, n) + `]`)
	}
	return []hostileRequest{
		{"members without one that was applied before", "PATCH", "application/apply-patch+yaml",
			hostileObject("pruned", `"values":{`+list(`"v%d":1`, 4*many)+`}`)},
		{"a large set in no order beside a null, applied", "PATCH", "application/apply-patch+yaml",
			hostileObject("new", `"nothing":null,"plain":[`+unordered(`"%d"`, 4*many)+`]`)},
		{"members beside a null, applied", "PATCH", "application/apply-patch+yaml",
			hostileObject("new", `"nothing":null,"values":{`+list(`"v%d":1`, 19_000)+`}`)},
		{"many members, applied", "PATCH", "application/apply-patch+yaml",
			hostileObject("new", `"values":{`+list(`"v%d":1`, 2*many)+`}`)},
		{"9,000 levels", "POST", "application/json", hostileObject("new", `"free":`+nested(9000, "1"))},
		{"9,000 levels, applied", "PATCH", "application/apply-patch+yaml",
			hostileObject("pruned", `"free":`+nested(9000, "1"))},
		{"1,000 levels, applied", "PATCH", "application/apply-patch+yaml",
			hostileObject("pruned", `"free":`+nested(990, "1"))},
		{"many leaves at 900 levels", "POST", "application/json",
			hostileObject("new", `"free":`+nested(900, `{`+list(`"v%d":1`, many/5)+`}`))},
		{"many leaves at 900 levels, applied", "PATCH", "application/apply-patch+yaml",
			hostileObject("pruned", `"free":`+nested(900, `{`+list(`"v%d":1`, many/5)+`}`))},
		{"deep YAML", "POST", "application/yaml", hostileObject("new", `"free":{"a":`+strings.Repeat("[", 9000)+
			strings.Repeat("]", 9000)+`}`)},
		{"deep YAML in lines", "POST", "application/yaml",
			"apiVersion: hostile.example.com/v1\nkind: Thing\nmetadata: {name: new}\nfree:\n a:\n  " +
				strings.Repeat("- ", 9000) + "x\n"},
		{"short YAML nodes", "POST", "application/yaml",
			"apiVersion: hostile.example.com/v1\nkind: Thing\nmetadata: {name: new}\nfree: {a: [" + list("a", 190_000) + "]}\n"},
		{"short YAML nodes, applied", "PATCH", "application/apply-patch+yaml",
			"apiVersion: hostile.example.com/v1\nkind: Thing\nmetadata: {name: thing}\nfree: {b: [" + list("{}", 49_000) +
				"]}\n"},
		{"as many references as YAML allows", "POST", "application/yaml",
			"apiVersion: hostile.example.com/v1\nkind: Thing\nmetadata: {name: new}\na: &a [x,x,x,x,x,x,x,x,x,x]\n" +
				references('b', 'd') + "free: {a: [" + list("*d", 8) + "]}\n"},
		{"owners of one UID", "POST", "application/json",
			owners(`{"apiVersion":"v1","kind":"K","name":"n%d","uid":"u"}`, 9_999)},
		{"20,000 owners", "POST", "application/json",
			owners(`{"apiVersion":"v1","kind":"K","name":"n%d","uid":"u%[1]d"}`, 20_000)},
		{"owners that all control", "POST", "application/json",
			owners(`{"apiVersion":"v1","kind":"K","name":"n%d","uid":"u","controller":true}`, 9_999)},
		{"owners in an update", "PUT", "application/json",
			owners(`{"apiVersion":"v1","kind":"K","name":"n%d","uid":"u%[1]d"}`, 9_999)},
		{"empty owners", "POST", "application/json", owners(`{}`, 9_999)},
		{"managers", "PUT", "application/json", entries(9_999, `"f:free":{"f:a":{}}`)},
		{"managers with fields", "PUT", "application/json", entries(300, `"f:free":{`+list(`"f:v%d":{}`, 500)+`}`)},
		{"a deep entry of managed fields", "PUT", "application/json",
			metadata(`"managedFields":[{"manager":"m","operation":"Update","apiVersion":"hostile.example.com/v1",` +
				`"fieldsType":"FieldsV1","fieldsV1":` +
				strings.Repeat(`{"f:a":`, 900) + "{}" + strings.Repeat("}", 900) + `}]`)},
		{"a long mail address", "POST", "application/json", hostileObject("new", `"mail":"`+strings.Repeat("a.", 1<<20)+`"`)},
		{"small objects", "POST", "application/json", hostileObject("new", `"free":{"a":[`+list(`{"a":1}`, 99_000)+`]}`)},
		{"empty objects", "PATCH", "application/apply-patch+yaml",
			hostileObject("new", `"free":{"a":[`+list(`{}`, 99_000)+`]}`)},
		{"small items", "POST", "application/json", hostileObject("new", `"free":{"a":[`+list(`1`, 1_500_000)+`]}`)},
		{"empty items", "PATCH", "application/merge-patch+json", `{"free":{"a":[` + list(`[]`, 900_000) + `]}}`},
		{"empty texts", "PATCH", "application/apply-patch+yaml",
			hostileObject("new", `"free":{"a":[`+list(`""`, 900_000)+`]}`)},
		{"short members", "POST", "application/json", hostileObject("new", `"free":{`+list(`"%x":1`, 4*many)+`}`)},
		{"short members, applied", "PATCH", "application/apply-patch+yaml",
			hostileObject("new", `"free":{`+list(`"%x":1`, 4*many)+`}`)},
		{"duplicates in a set", "POST", "application/json",
			hostileObject("new", `"plain":[`+list(`"a%d","a%[1]d"`, 2*many)+`]`)},
		{"duplicate keys of a list", "PATCH", "application/merge-patch+json",
			`{"map":[` + list(`{"a":%d},{"a":%[1]d}`, 49_000) + `]}`},
		{"duplicate keys of a list, applied", "PATCH", "application/apply-patch+yaml",
			hostileObject("thing", `"map":[`+list(`{"a":%d},{"a":%[1]d}`, 9_000)+`]`)},
		{"copies that double", "PATCH", "application/json-patch+json",
			`[` + list(`{"op":"copy","from":"/free","path":"/free/c%d"}`, 30) + `]`},
		{"a deep path", "PATCH", "application/json-patch+json",
			`[{"op":"add","path":"/free/b","value":` + nested(900, `"`+strings.Repeat("x", many)+`"`) +
				`},{"op":"remove","path":"/free/b` +
				strings.Repeat("/level", 900) + `"}]`},
		{"tests of everything", "PATCH", "application/json-patch+json",
			`[{"op":"add","path":"/free/l","value":[` + list("1", 10*many) + `]},` +
				list(`{"op":"test","path":"/free","value":{}}`, 1) + `]`},
	}
}

// hostileMatches returns requests that take long, with the patterns first.
func hostileMatches() []hostileRequest {
	return []hostileRequest{
		{"a pattern with many states", "POST", "application/json",
			hostileObject("new", `"text":"`+strings.Repeat("a", 1<<20)+`"`)},
		{"a pattern with many states in a patch", "PATCH", "application/merge-patch+json",
			`{"text":"` + strings.Repeat("a", 1<<20) + `"}`},
		{"members before a long stored list", "PATCH", "application/json-patch+json",
			`[{"op":"test","path":"/metadata/name","value":"long"},` +
				list(`{"op":"add","path":"/free/l/0","value":1}`, 9_998) + `]`},
	}
}
