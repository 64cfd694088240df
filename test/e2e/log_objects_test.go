package e2e

import (
	"fmt"
	"net/http"
	"strings"
)

// policies creates policies that cannot be evaluated: their parameters have no kind, or their expressions fail.
func (o *odd) policies() {
	const (
		group  = "/apis/admissionregistration.k8s.io/v1/"
		policy = `{"metadata":{"name":%[1]q},"spec":{"failurePolicy":"Fail","matchConstraints":{"resourceRules":[{
			"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["secrets"]}]},%[2]s}}`
		binding = `{"metadata":{"name":%[1]q},"spec":{"policyName":%[1]q%[2]s}}`
	)
	for name, rest := range map[string]string{
		"params": `"paramKind":{"apiVersion":"none.example.com/v1","kind":"None"},"validations":[{"expression":"false"}]`,
		"fails": `"auditAnnotations":[{"key":"a","valueExpression":"string(object.none.a)"}],
			"validations":[{"expression":"object.none.a == 1"}]`,
	} {
		o.must(http.MethodPost, group+"validatingadmissionpolicies", fmt.Sprintf(policy, name, rest))
		o.must(http.MethodPost, group+"validatingadmissionpolicybindings",
			fmt.Sprintf(binding, name, `,"validationActions":["Deny","Audit"]`))
	}
	o.must(http.MethodPost, group+"mutatingadmissionpolicies", fmt.Sprintf(policy, "applies",
		`"reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{
		"expression":"Object{metadata: Object.metadata{name: object.none}}"}}]`))
	o.must(http.MethodPost, group+"mutatingadmissionpolicybindings", fmt.Sprintf(binding, "applies", ""))
	o.until("policies refuse Secrets", func() bool {
		code := o.do(http.MethodPost, "/api/v1/namespaces/default/secrets", `{"metadata":{"name":"a"}}`, "")
		return code >= http.StatusBadRequest
	})
}

// shapes sends custom resources that their schema forbids, and more unknown fields than warnings fit into headers.
func (o *odd) shapes() {
	o.must(http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
		`{"metadata":{"name":"shapes.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
		"names":{"plural":"shapes","kind":"Shape"},"versions":[{"name":"v1","served":true,"storage":true,
		"schema":{"openAPIV3Schema":{"type":"object","properties":{"list":{"type":"array","x-kubernetes-list-type":"map",
		"x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],
		"properties":{"name":{"type":"string"}}}}}}}}]}}`)
	const path = "/apis/example.com/v1/namespaces/default/shapes"
	var unknown strings.Builder
	for n := range 200 {
		fmt.Fprintf(&unknown, `,"%d%s":1`, n, strings.Repeat("x", 100))
	}
	for n, content := range []string{
		`"list":[]` + unknown.String(), `"list":[{"name":"a"},{"name":"a"}]`, `"list":{"a":1}`,
		`"list":[{"name":1}]`, `"list":[{}]`, `"metadata":{"ownerReferences":[1]}`, `"metadata":{"managedFields":[1]}`,
		`"metadata":{"name":"m","managedFields":[{"manager":"a","fieldsType":"FieldsV1","fieldsV1":{"f:a":1}}]}`,
	} {
		object := fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Shape","metadata":{"name":"a%d"},%s}`, n, content)
		o.do(http.MethodPost, path, object, "")
		o.do(http.MethodPatch, fmt.Sprint(path, "/a0"), object, "application/merge-patch+json")
		o.do(http.MethodPatch, fmt.Sprint(path, "/b", n, "?fieldManager=a"), object, "application/apply-patch+yaml")
	}
	object := `{"metadata":{"name":"unknown"}` + unknown.String() + "}"
	o.do(http.MethodPost, "/api/v1/namespaces/default/configmaps", object, "")
}
