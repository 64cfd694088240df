package openapi

import (
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// parameter is a parameter in the path or in the query.
type parameter struct {
	name, description string
	kind              string // the type of its value
	inPath            bool
}

var (
	prettyParameter = parameter{name: "pretty", kind: "string",
		description: "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent indicates a browser or command-line HTTP tool (curl and wget)."}
	namespaceParameter = parameter{name: "namespace", kind: "string", inPath: true,
		description: "object name and auth scope, such as for teams and projects"}

	getParameters    = parametersOf(&metav1.GetOptions{})
	listParameters   = parametersOf(&metav1.ListOptions{})
	createParameters = parametersOf(&metav1.CreateOptions{})
	updateParameters = parametersOf(&metav1.UpdateOptions{})
	patchParameters  = parametersOf(&metav1.PatchOptions{})
	deleteParameters = parametersOf(&metav1.DeleteOptions{})
)

func nameParameter(kind string) parameter {
	return parameter{name: "name", kind: "string", inPath: true, description: "name of the " + kind}
}

// parametersOf returns the query parameters of options: its fields that are not structs.
func parametersOf(options interface{ SwaggerDoc() map[string]string }) []parameter {
	docs := options.SwaggerDoc()
	var parameters []parameter
	for _, field := range reflect.VisibleFields(reflect.TypeOf(options).Elem()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || len(field.Index) > 1 {
			continue
		}
		if kind := valueKind(field.Type); kind != "" {
			parameters = append(parameters, parameter{name: name, description: docs[name], kind: kind})
		}
	}
	return parameters
}

// valueKind returns the type of a parameter, or "". Repeated parameters have the type of one value.
func valueKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return valueKind(t.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "integer"
	case reflect.String:
		return "string"
	}
	return ""
}

// commonParameters splits the parameters of the operations of a path into those that all of them have and the rest of each.
func commonParameters(operations []*operation) (all []parameter, rest [][]parameter) {
	counts := map[parameter]int{}
	for _, op := range operations {
		for _, p := range op.parameters {
			counts[p]++
		}
	}
	for n, op := range operations {
		own := []parameter{}
		for _, p := range op.parameters {
			switch {
			case counts[p] < len(operations):
				own = append(own, p)
			case n == 0:
				all = append(all, p)
			}
		}
		rest = append(rest, sorted(own))
	}
	return sorted(all), rest
}

func sorted(parameters []parameter) []parameter {
	slices.SortFunc(parameters, func(a, b parameter) int { return strings.Compare(a.name, b.name) })
	return parameters
}

// byPath groups operations by path.
func byPath(operations []*operation) map[string][]*operation {
	paths := map[string][]*operation{}
	for _, op := range operations {
		paths[op.path] = append(paths[op.path], op)
	}
	return paths
}
