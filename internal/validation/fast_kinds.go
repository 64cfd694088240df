package validation

// kinds is a set of JSON types. As in a schema, the empty set means any type.
type kinds uint8

const anyKind kinds = 0

const (
	nullKind kinds = 1 << iota
	booleanKind
	integerKind
	numberKind
	stringKind
	arrayKind
	objectKind
)

// kindsByName are the types that a schema can name.
var kindsByName = map[string]kinds{
	"": anyKind, "null": nullKind, "boolean": booleanKind, "integer": integerKind, "number": numberKind,
	"string": stringKind,
	"array":  arrayKind, "object": objectKind,
}

func (k kinds) has(kind kinds) bool {
	return k&kind != 0
}

// kindOf returns the kind of a value that is not nil, 0 if JSON is not decoded to such a value.
func kindOf(value any) kinds {
	switch value.(type) {
	case string:
		return stringKind
	case int64:
		return integerKind
	case map[string]any:
		return objectKind
	case []any:
		return arrayKind
	case bool:
		return booleanKind
	case float64:
		return numberKind
	}
	return 0
}
