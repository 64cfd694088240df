package policy

import (
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Fields returns the managed fields of a default that the server creates, in the format FieldsV1.
func Fields(obj Object) string {
	metadata := `"f:metadata":{"f:annotations":` + keyFields(obj.GetAnnotations()) +
		`,"f:labels":` + keyFields(obj.GetLabels()) + `}`
	switch obj := obj.(type) {
	case *rbacv1.ClusterRole:
		if obj.AggregationRule != nil {
			metadata = `"f:aggregationRule":{".":{},"f:clusterRoleSelectors":{}},` + metadata
		}
	case *rbacv1.ClusterRoleBinding:
		return bindingFields(metadata, obj.Subjects)
	case *rbacv1.RoleBinding:
		return bindingFields(metadata, obj.Subjects)
	}
	return `{` + metadata + `,"f:rules":{}}`
}

func bindingFields(metadata string, subjects []rbacv1.Subject) string {
	if len(subjects) == 0 {
		return `{` + metadata + `,"f:roleRef":{}}`
	}
	return `{` + metadata + `,"f:roleRef":{},"f:subjects":{}}`
}

// keyFields returns the fields of a map. None of the keys needs to be escaped.
func keyFields(values map[string]string) string {
	var fields strings.Builder
	fields.WriteString(`{".":{}`)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		fields.WriteString(`,"f:` + key + `":{}`)
	}
	return fields.String() + `}`
}
