package hostile

import "fmt"

// listShapes are objects with large lists and maps, which managed fields track item by item.
var listShapes = []Shape{
	{"fields", 1000, 100000, func(d dice, size int) *Input { return written("", `"values":{`+members(d, size)+`}`) }},
	{"fields of a free object", 1000, 100000, func(d dice, size int) *Input {
		return written("", `"free":{`+members(d, size)+`}`)
	}},
	{"fields beside a null", 1000, 100000, func(d dice, size int) *Input {
		return written("", `"nothing":null,"values":{`+members(d, size)+`}`)
	}},
	{"set", 1000, 100000, func(d dice, size int) *Input {
		return written("", `"set":[`+joined(d.order(size), quoted)+`]`)
	}},
	{"set of numbers", 1000, 100000, func(d dice, size int) *Input {
		return written("", `"numbers":[`+joined(d.order(size), func(n int) string { return fmt.Sprint(-n) })+`]`)
	}},
	{"set beside a null", 1000, 100000, func(d dice, size int) *Input {
		return written("", `"nothing":null,"set":[`+joined(d.order(size), quoted)+`]`)
	}},
	{"set with duplicates", 1000, 100000, func(d dice, size int) *Input {
		different := 1 + d.IntN(size)
		return written("", `"set":[`+joined(d.order(size), func(n int) string { return quoted(n % different) })+`]`)
	}},
	{"list map", 1000, 100000, func(d dice, size int) *Input {
		return written("", `"map":[`+joined(d.order(size), item)+`]`)
	}},
	{"list map beside a null", 1000, 100000, func(d dice, size int) *Input {
		return written("", `"nothing":null,"map":[`+joined(d.order(size), item)+`]`)
	}},
	{"list map with a null", 1000, 100000, func(d dice, size int) *Input {
		return written("", `"map":[{"a":-1,"b":null},`+joined(d.order(size), item)+`]`)
	}},
	{"list map with duplicates", 1000, 100000, func(d dice, size int) *Input {
		different := 1 + d.IntN(size)
		return written("", `"map":[`+joined(d.order(size), func(n int) string { return item(n % different) })+`]`)
	}},
	{"list map with three keys", 500, 50000, func(d dice, size int) *Input {
		return written("", `"keys":[`+joined(d.order(size), func(n int) string {
			return fmt.Sprintf(`{"a":"k%d"}`, n)
		})+`]`)
	}},
	{"list map, changed", 500, 50000, func(d dice, size int) *Input {
		const path = things + "/thing?fieldManager=hostile&force=true"
		before, after := d.order(size), d.order(size)
		return requests(prepared(),
			one("apply", Request{Method: "PATCH", Path: path, ContentType: asApply,
				Body: thing("thing", "", `"map":[`+joined(before, item)+`]`)}),
			one("apply in another order", Request{Method: "PATCH", Path: path, ContentType: asApply,
				Body: thing("thing", "", `"map":[`+joined(after, item)+`]`)}),
			one("apply without half", Request{Method: "PATCH", Path: path, ContentType: asApply,
				Body: thing("thing", "", `"map":[`+joined(after[:size/2], item)+`]`)}),
			one("apply as another", Request{Method: "PATCH", Path: things + "/thing?fieldManager=other", ContentType: asApply,
				Body: thing("thing", "", `"map":[`+joined(before, func(n int) string {
					return fmt.Sprintf(`{"a":%d,"b":"other"}`, n)
				})+`]`)}),
			one("delete", Request{Method: "DELETE", Path: things}),
		)
	}},
}

func members(d dice, size int) string {
	return joined(d.order(size), func(n int) string { return fmt.Sprintf(`"f%d":%d`, n, n) })
}

func quoted(n int) string { return fmt.Sprintf(`"%d"`, n) }

func item(n int) string { return fmt.Sprintf(`{"a":%d,"b":"x"}`, n) }
