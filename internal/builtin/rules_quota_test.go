package builtin_test

const (
	misplaced = "unsupported scope applied to resource"
	mustExist = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, " +
		"ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or " +
		"ResourceQuotaScopeCrossNamespacePodAffinity"
	notStandard = "must be a standard resource type or fully qualified"
	notForQuota = "must be a standard resource for quota"
	deprecated  = "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate " +
		"namespaces to isolate access to mounted secrets"
)

var quotaWrites = []write{
	{
		name: "create", resource: "resourcequotas",
		obj: `{"metadata":{"name":"q"},"spec":{"hard":{"limits.cpu":"1.0005","count/widgets.example.com":"3","pods":"1k",` +
			`"hugepages-2Mi":"1","requests.example.com/gpu":"1.5"}},"status":{"hard":{"pods":"1"}}}`,
		stored: `{"metadata":{"name":"q"},"spec":{"hard":{"count/widgets.example.com":"3","hugepages-2Mi":"1",` +
			`"limits.cpu":"1001m","pods":"1k","requests.example.com/gpu":"1500m"}},"status":{}}`,
	},
	{
		name: "invalid resources", resource: "resourcequotas",
		obj: `{"metadata":{"name":"q","finalizers":["foo"]},"spec":{"hard":{"-x":"1","a/-":"1","count/x":"0.5",` +
			`"example.com/gpu":"1.5","foo":"1","pods":"1.5","requests.storage":"-1","storage":"1"}}}`,
		errors: []string{
			`metadata.finalizers[0]: Invalid value: "foo": ` + unknownFinalizer,
			`spec.hard[-x]: Invalid value: "-x": name part must consist of alphanumeric characters, '-', '_' or '.', ` +
				`and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', ` +
				`regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
			`spec.hard[-x]: Invalid value: "-x": ` + notForQuota,
			`spec.hard[a/-]: Invalid value: "a/-": name part must consist of alphanumeric characters, '-', '_' or '.', ` +
				`and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', ` +
				`regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
			`spec.hard[count/x]: Invalid value: "500m": must be an integer`,
			`spec.hard[example.com/gpu]: Invalid value: "1500m": must be an integer`,
			`spec.hard[foo]: Invalid value: "foo": ` + notStandard,
			`spec.hard[foo]: Invalid value: "foo": ` + notForQuota,
			`spec.hard[pods]: Invalid value: "1500m": must be an integer`,
			`spec.hard[requests.storage]: Invalid value: "-1": must be greater than or equal to 0`,
			`spec.hard[storage]: Invalid value: "storage": ` + notForQuota,
		},
	},
	{
		name: "invalid scopes", resource: "resourcequotas",
		obj: `{"metadata":{"name":"q"},"spec":{"hard":{"cpu":"1","pods":"1","count/x":"1"},` +
			`"scopes":["BestEffort","NotBestEffort","VolumeAttributesClass","Nope"]}}`,
		errors: []string{
			`spec.scopes: Invalid value: ["BestEffort","NotBestEffort","VolumeAttributesClass","Nope"]: ` + misplaced,
			`spec.scopes: Invalid value: ["BestEffort","NotBestEffort","VolumeAttributesClass","Nope"]: unsupported scope`,
			`spec.scopes: Invalid value: ["BestEffort","NotBestEffort","VolumeAttributesClass","Nope"]: conflicting scopes`,
		},
	},
	{
		name: "invalid selector", resource: "resourcequotas",
		obj: `{"metadata":{"name":"q"},"spec":{"hard":{"secrets":"1"},"scopeSelector":{"matchExpressions":[` +
			`{"scopeName":"Terminating","operator":"In"},{"scopeName":"X","operator":"Y","values":["a"]},` +
			`{"scopeName":"NotTerminating","operator":"Exists","values":["a"]}]}}}`,
		errors: []string{
			`spec.scopeSelector.matchExpressions: Invalid value: ` + shownSelector + `: ` + misplaced,
			`spec.scopeSelector.matchExpressions.operator: Invalid value: "In": ` + mustExist,
			"spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' " +
				"or 'NotIn' for scope selector",
			`spec.scopeSelector.matchExpressions.scopeName: Invalid value: "X": unsupported scope`,
			`spec.scopeSelector.matchExpressions.operator: Invalid value: "Y": not a valid selector operator`,
			"spec.scopeSelector.matchExpressions.values: Invalid value: [\"a\"]: must be no value when `operator` is 'Exist' " +
				"or 'DoesNotExist' for scope selector",
			`spec.scopeSelector.matchExpressions: Invalid value: null: conflicting scopes`,
		},
	},
	{
		name: "requests above limits", resource: "resourcequotas",
		obj: `{"metadata":{"name":"q"},"spec":{"hard":{"cpu":"2","limits.cpu":"1","requests.memory":"2Gi","memory":"1",` +
			`"limits.memory":"1Gi","requests.ephemeral-storage":"1","limits.ephemeral-storage":"1"}}}`,
		warnings: []string{
			"ResourceQuota cpu (2) should be less than limits.cpu (1)",
			"ResourceQuota requests.memory (2Gi) should be less than limits.memory (1Gi)",
		},
	},
	{
		name: "update", resource: "resourcequotas",
		old: `{"metadata":{"name":"q"},"spec":{"hard":{"pods":"1"},"scopes":["Terminating","BestEffort"]},` +
			`"status":{"hard":{"pods":"1"}}}`,
		obj: `{"metadata":{"name":"q"},"spec":{"hard":{"pods":"2"},"scopes":["BestEffort","Terminating"]},` +
			`"status":{"hard":{"foo":"1"}}}`,
		stored: `{"metadata":{"name":"q"},"spec":{"hard":{"pods":"2"},"scopes":["BestEffort","Terminating"]},` +
			`"status":{"hard":{"pods":"1"}}}`,
	},
	{
		name: "other scopes", resource: "resourcequotas",
		old:    `{"metadata":{"name":"q"},"spec":{"hard":{"pods":"1"},"scopes":["Terminating"]}}`,
		obj:    `{"metadata":{"name":"q"},"spec":{"hard":{"pods":"1"}}}`,
		errors: []string{`spec.scopes: Invalid value: null: field is immutable`},
	},
	{
		name: "status", resource: "resourcequotas/status",
		old:    `{"metadata":{"name":"q"},"spec":{"hard":{"pods":"1"}}}`,
		obj:    `{"metadata":{"name":"q"},"spec":{"hard":{"foo":"1"}},"status":{"hard":{"pods":"1"},"used":{"pods":"0"}}}`,
		stored: `{"metadata":{"name":"q"},"spec":{"hard":{"pods":"1"}},"status":{"hard":{"pods":"1"},"used":{"pods":"0"}}}`,
	},
	{
		name: "invalid status", resource: "resourcequotas/status",
		old: `{"metadata":{"name":"q"}}`,
		obj: `{"metadata":{"name":"q"},"status":{"hard":{"foo":"1"},"used":{"pods":"0.5","cpu":"-1"}}}`,
		errors: []string{
			`status.hard[foo]: Invalid value: "foo": ` + notStandard,
			`status.hard[foo]: Invalid value: "foo": ` + notForQuota,
			`status.used[cpu]: Invalid value: "-1": must be greater than or equal to 0`,
			`status.used[pods]: Invalid value: "500m": must be an integer`,
		},
	},
}

const shownSelector = `{"MatchExpressions":[{"ScopeName":"Terminating","Operator":"In","Values":null},` +
	`{"ScopeName":"X","Operator":"Y","Values":["a"]},{"ScopeName":"NotTerminating","Operator":"Exists","Values":["a"]}]}`

// otherWrites are writes of service accounts and leases, and some of all kinds.
func otherWrites() []write {
	writes := []write{
		{
			name: "references", resource: "serviceaccounts",
			obj: `{"metadata":{"name":"a"},"secrets":[{"name":"s","namespace":"n","kind":"k"}],` +
				`"imagePullSecrets":[{"name":"p"},{}],"automountServiceAccountToken":false}`,
			stored: `{"metadata":{"name":"a"},"secrets":[{"name":"s"}],` +
				`"imagePullSecrets":[{"name":"p"},{}],"automountServiceAccountToken":false}`,
		},
		{
			name: "invalid", resource: "serviceaccounts",
			obj: `{"metadata":{"name":"A","finalizers":["foo"]}}`,
			errors: []string{
				`metadata.name: Invalid value: "A": ` + invalidSubdomain,
				`metadata.finalizers[0]: Invalid value: "foo": ` + unknownFinalizer,
			},
		},
		{
			name: "deprecated annotation", resource: "serviceaccounts",
			obj:      `{"metadata":{"name":"a","annotations":{"kubernetes.io/enforce-mountable-secrets":""}}}`,
			warnings: []string{deprecated},
		},
		{
			name: "new deprecated annotation", resource: "serviceaccounts",
			old:      `{"metadata":{"name":"a"}}`,
			obj:      `{"metadata":{"name":"a","annotations":{"kubernetes.io/enforce-mountable-secrets":""}}}`,
			warnings: []string{deprecated},
		},
		{
			name: "old deprecated annotation", resource: "serviceaccounts",
			old: `{"metadata":{"name":"a","annotations":{"kubernetes.io/enforce-mountable-secrets":""}}}`,
			obj: `{"metadata":{"name":"a","annotations":{"kubernetes.io/enforce-mountable-secrets":""}},` +
				`"secrets":[{"name":"s","kind":"k"}]}`,
			stored: `{"metadata":{"name":"a","annotations":{"kubernetes.io/enforce-mountable-secrets":""}},` +
				`"secrets":[{"name":"s"}]}`,
		},
		{
			name: "update with a finalizer", resource: "leases",
			old: `{"metadata":{"name":"l"}}`,
			obj: `{"metadata":{"name":"l","finalizers":["foo"]}}`,
		},
		{
			name: "create", resource: "leases",
			obj: `{"metadata":{"name":"l","finalizers":["foo"]},"spec":{"holderIdentity":"me","strategy":"x",` +
				`"preferredHolder":"y"}}`,
			stored: `{"metadata":{"name":"l","finalizers":["foo"]},"spec":{"holderIdentity":"me"}}`,
		},
		{
			name: "invalid", resource: "leases",
			obj: `{"metadata":{"name":"l"},"spec":{"leaseDurationSeconds":0,"leaseTransitions":-1}}`,
			errors: []string{
				"spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
				"spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
			},
		},
		{
			name: "update", resource: "leases",
			old: `{"metadata":{"name":"l"},"spec":{"leaseTransitions":0}}`,
			obj: `{"metadata":{"name":"l"},"spec":{"leaseDurationSeconds":-1,"leaseTransitions":0,"strategy":"x",` +
				`"preferredHolder":"y"}}`,
			errors: []string{
				"spec.leaseDurationSeconds: Invalid value: -1: must be greater than 0",
			},
		},
	}
	for _, resource := range []string{
		"configmaps", "namespaces", "namespaces/finalize", "namespaces/status", "resourcequotas",
		"resourcequotas/status", "secrets", "serviceaccounts",
	} {
		writes = append(writes, write{
			name: "update with an unknown finalizer", resource: resource,
			old:    `{"metadata":{"name":"f"}}`,
			obj:    `{"metadata":{"name":"f","finalizers":["foo"]}}`,
			errors: []string{`metadata.finalizers[0]: Invalid value: "foo": ` + unknownFinalizer},
		})
	}
	return writes
}
