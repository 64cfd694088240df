package hostile

import (
	"fmt"
	"strings"
)

// columnShapes are definitions with printer columns.
var columnShapes = []Shape{
	{"columns x versions", 1000, 20000, func(d dice, size int) *Input {
		versions, columns := d.split(size)
		return printed(versions, joined(numbers(columns), func(n int) string { return column(n, ".free.a") }),
			`"free":{"a":"x"}`)
	}},
	{"columns x paths x versions", 1000, 100000, func(d dice, size int) *Input {
		versions, rest := d.split(size)
		columns, length := d.split(rest)
		path := strings.Repeat(".a", length)
		return printed(versions, joined(numbers(columns), func(n int) string { return column(n, ".free"+path) }),
			`"free":`+strings.Repeat(`{"a":`, min(length, 500))+"1"+strings.Repeat("}", min(length, 500)))
	}},
	{"deep column", 500, 9000, func(d dice, size int) *Input {
		part := pick(d, ".a", "[0]", ".*", "[*]")
		value := strings.Repeat(`{"a":`, size) + "1" + strings.Repeat("}", size)
		if strings.HasPrefix(part, "[") {
			value = `{"a":` + strings.Repeat("[", size) + strings.Repeat("]", size) + `}`
		}
		return printed(1, column(0, ".free.a"+strings.Repeat(part, size)), `"free":`+value)
	}},
	{"recursive column", 40, 3000, func(d dice, size int) *Input {
		path := strings.Repeat(pick(d, "..a", "..*", "..[*]"), 1+d.IntN(4))
		return printed(1, column(0, path), `"free":`+strings.Repeat(`{"a":`, size)+"1"+strings.Repeat("}", size))
	}},
	{"filters in a column", 30, 1000, func(d dice, size int) *Input {
		filter := strings.Repeat(pick(d, "[?(@.a==1)]", "[?(@.a==@.a)]", "[?(@..a==1)]"), 1+d.IntN(3))
		return printed(1, column(0, ".free.l"+filter), `"free":{"l":[`+repeated(`{"a":1,"b":[{"a":1}]}`, size)+`]}`)
	}},
	{"ranges in a column", 10, 200, func(d dice, size int) *Input {
		path := ".free.l" + strings.Repeat("[0:"+fmt.Sprint(size)+"]", 1+d.IntN(3))
		union := "[" + repeated("'a'", size) + "]"
		list := "[" + repeated("["+repeated("1", size)+"]", size) + "]"
		return printed(1, column(0, path)+","+column(1, ".free"+union+union+union),
			`"free":{"l":`+list+`,"a":{"a":{"a":1}}}`)
	}},
	{"large values in columns", 100, 1000, func(_ dice, size int) *Input {
		return printed(1, joined(numbers(size), func(n int) string { return column(n, ".free.a") }),
			`"free":{"a":"`+strings.Repeat("x", size*200)+`"}`)
	}},
}

// printed returns an input of a definition whose versions have columns, and of objects with fields.
func printed(versions int, columns, fields string) *Input {
	c := versioned(same(`"additionalPrinterColumns":[`+columns+`],`+preserving, versions))
	c.fields = fields
	return c.input()
}

// column returns JSON of a column.
func column(n int, path string) string {
	return fmt.Sprintf(`{"name":"c%d","type":"string","jsonPath":"%s"}`, n, path)
}
