package policy

import (
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RoleFields returns the managed fields of a default role that the server creates, in the format FieldsV1.
func RoleFields(role *rbacv1.ClusterRole) string {
	rules := `"f:rules":{}`
	if role.AggregationRule != nil {
		return `{"f:aggregationRule":{".":{},"f:clusterRoleSelectors":{}},` + metadataFields(role) + `,` + rules + `}`
	}
	return `{` + metadataFields(role) + `,` + rules + `}`
}

// NamespacedRoleFields is RoleFields for a role of a namespace.
func NamespacedRoleFields(role *rbacv1.Role) string {
	return `{` + metadataFields(role) + `,"f:rules":{}}`
}

// BindingFields returns the managed fields of a default binding that the server creates, in the format FieldsV1.
func BindingFields(binding metav1.Object, subjects []rbacv1.Subject) string {
	fields := `{` + metadataFields(binding) + `,"f:roleRef":{}`
	if len(subjects) > 0 {
		fields += `,"f:subjects":{}`
	}
	return fields + `}`
}

func metadataFields(m metav1.Object) string {
	return `"f:metadata":{"f:annotations":` + keyFields(m.GetAnnotations()) + `,"f:labels":` + keyFields(m.GetLabels()) +
		`}`
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
