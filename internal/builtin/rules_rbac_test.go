package builtin_test

const (
	noGroup    = "Required value: resource rules must supply at least one api group"
	noResource = "Required value: resource rules must supply at least one resource"
	rbacOnly   = `supported values: "rbac.authorization.k8s.io"`
)

var rbacWrites = []write{
	{
		name: "defaults", resource: "rolebindings",
		obj: `{"metadata":{"name":"a:b"},"roleRef":{"kind":"Role","name":"c:d"},"subjects":[{"kind":"User","name":"u"},` +
			`{"kind":"Group","name":"g"},{"kind":"ServiceAccount","name":"s"}]}`,
		stored: `{"metadata":{"name":"a:b"},"subjects":[` +
			`{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"u"},` +
			`{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"g"},{"kind":"ServiceAccount","name":"s"}],` +
			`"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"c:d"}}`,
	},
	{
		name: "no rules", resource: "roles",
		obj:    `{"metadata":{"name":"r"},"rules":[]}`,
		stored: `{"metadata":{"name":"r"},"rules":null}`,
	},
	{
		name: "invalid", resource: "roles",
		obj: `{"metadata":{"name":"a/b"},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]},{},` +
			`{"verbs":["get"],"nonResourceURLs":["/a"],"resources":["b"]}]}`,
		errors: []string{
			`metadata.name: Invalid value: "a/b": may not contain '/'`,
			"rules[1].apiGroups: " + noGroup,
			"rules[1].resources: " + noResource,
			`rules[2].nonResourceURLs: Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs`,
			`rules[2].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular resources and non-resource ` +
				`URLs`,
			"rules[1].verbs: Required value",
		},
	},
	{
		name: "update to an invalid object", resource: "roles",
		old:    `{"metadata":{"name":"r"}}`,
		obj:    `{"metadata":{"name":"r"},"rules":[{"verbs":["get"]}]}`,
		errors: []string{"rules[0].apiGroups: " + noGroup, "rules[0].resources: " + noResource},
	},
	{
		name: "paths", resource: "clusterroles",
		obj: `{"metadata":{"name":"system:r"},"rules":[{"verbs":["get"],"nonResourceURLs":["/a"]}]}`,
	},
	{
		name: "invalid", resource: "clusterroles",
		obj: `{"metadata":{"name":"r"},"rules":[{"nonResourceURLs":["/a"]}],"aggregationRule":{"clusterRoleSelectors":[` +
			`{"matchExpressions":[{"key":"a","operator":"Is"}]}]}}`,
		errors: []string{
			`aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "Is": not a valid selector ` +
				`operator`,
			`aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.`,
			"rules[0].verbs: Required value",
		},
	},
	{
		name: "empty aggregation", resource: "clusterroles",
		obj: `{"metadata":{"name":"r"},"aggregationRule":{}}`,
		errors: []string{"aggregationRule.clusterRoleSelectors: Required value: " +
			"at least one clusterRoleSelector required if aggregationRule is non-nil"},
	},
	{
		name: "invalid", resource: "rolebindings",
		obj: `{"metadata":{"name":"b"},"roleRef":{"apiGroup":"a","kind":"User"},"subjects":[{"kind":"User","apiGroup":"b",` +
			`"name":"u"},` +
			`{"kind":"ServiceAccount","apiGroup":"c","name":"S"},{"kind":"Pod","name":"p"},{"kind":"Group"}]}`,
		errors: []string{
			`roleRef.apiGroup: Unsupported value: "a": ` + rbacOnly,
			`roleRef.kind: Unsupported value: "User": supported values: "Role", "ClusterRole"`,
			`subjects[0].apiGroup: Unsupported value: "b": ` + rbacOnly,
			`subjects[1].name: Invalid value: "S": ` + invalidSubdomain,
			`subjects[1].apiGroup: Unsupported value: "c": supported values: ""`,
			`subjects[2].kind: Unsupported value: "Pod": supported values: "ServiceAccount", "User", "Group"`,
			"subjects[3].name: Required value",
			"roleRef.name: Required value",
		},
	},
	{
		name: "another role", resource: "rolebindings",
		old: `{"metadata":{"name":"b"},"roleRef":{"kind":"Role","name":"r"}}`,
		obj: `{"metadata":{"name":"b"},"roleRef":{"kind":"ClusterRole","name":"r"}}`,
		errors: []string{`roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"ClusterRole",` +
			`"Name":"r"}: ` +
			`field is immutable`},
	},
	{
		name: "no role", resource: "rolebindings",
		old: `{"metadata":{"name":"b"},"roleRef":{"kind":"Role","name":"r"}}`,
		obj: `{"metadata":{"name":"b"},"roleRef":{"kind":"Role"}}`,
		errors: []string{
			"roleRef.name: Required value",
			`roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":""}: field is immutable`,
		},
	},
	{
		name: "invalid", resource: "clusterrolebindings",
		obj: `{"metadata":{"name":"b"},"roleRef":{"kind":"Role","name":"."},"subjects":[{"kind":"ServiceAccount",` +
			`"name":"s"}]}`,
		errors: []string{
			`roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"`,
			`roleRef.name: Invalid value: ".": may not be '.'`,
			"subjects[0].namespace: Required value",
		},
	},
	{
		name: "other subjects", resource: "clusterrolebindings",
		old: `{"metadata":{"name":"b"},"roleRef":{"kind":"ClusterRole","name":"r"}}`,
		obj: `{"metadata":{"name":"b"},"roleRef":{"kind":"ClusterRole","name":"r"},"subjects":[{"kind":"Group","name":"g"}]}`,
	},
}
