package definitions

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/jsonpath"
)

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
