package builtin_test

var volumeWrites = []write{
	{
		name: "two sources", resource: "persistentvolumes",
		obj: `{"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},` +
			`"gcePersistentDisk":{"pdName":"a"},"hostPath":{"path":""},"cephfs":{},"flexVolume":{"driver":"d"}}}`,
		errors: []string{
			`spec.hostPath.path: Required value`,
			`spec.gcePersistentDisk: Forbidden: may not specify more than 1 volume type`,
			`spec.cephFS: Forbidden: may not specify more than 1 volume type`,
		},
	},
	{
		name: "attachments", resource: "csidrivers",
		old: `{"metadata":{"name":"d"},"spec":{"attachRequired":true}}`,
		obj: `{"metadata":{"name":"d"},"spec":{"attachRequired":false}}`,
		errors: []string{
			`spec.attachedRequired: Invalid value: false: field is immutable`,
		},
	},
	{
		name: "empty parameters", resource: "volumeattributesclasses",
		old: `{"metadata":{"name":"c"},"driverName":"d"}`,
		obj: `{"metadata":{"name":"c"},"driverName":"d","parameters":{}}`,
		errors: []string{
			`parameters: Forbidden: updates to parameters are forbidden.`,
		},
	},
}
