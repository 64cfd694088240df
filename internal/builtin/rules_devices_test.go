package builtin_test

var deviceWrites = []write{
	{
		name: "alpha fields are not checked", resource: "resourceslices",
		obj: `{"metadata":{"name":"s"},"spec":{"driver":"d.example.com","pool":{"name":"p","generation":1,` +
			`"resourceSliceCount":1},"nodeName":"n","partitionTypeAttribute":"d.example.com/type",` +
			`"skipNodeOperations":["Unknown"]}}`,
	},
	{
		name: "alpha fields are not checked", resource: "resourceclaims/status",
		old: `{"metadata":{"name":"c"}}`,
		obj: `{"metadata":{"name":"c"},"status":{"allocation":{"devices":{"results":[{"request":"r",` +
			`"driver":"d.example.com","pool":"p","device":"d","skipNodeOperations":["Unknown"]}]}}}}`,
	},
	{
		name: "white space of parameters", resource: "deviceclasses",
		old: `{"metadata":{"name":"c","generation":1},"spec":{"config":[{"opaque":{"driver":"d.example.com",` +
			`"parameters":{"a":1}}}]}}`,
		obj: `{"metadata":{"name":"c","generation":1},"spec":{"config":[{"opaque":{"driver":"d.example.com",` +
			`"parameters":{ "a" : 1 }}}]}}`,
		stored: `{"metadata":{"name":"c","generation":1},"spec":{"config":[{"opaque":{` +
			`"driver":"d.example.com","parameters":{"a":1}}}]}}`,
	},
}
