package builtin_test

var networkWrites = []write{
	{
		name: "invalid address", resource: "endpoints",
		obj: `{"metadata":{"name":"e"},"subsets":[{"addresses":[{"ip":"x"}]}]}`,
		errors: []string{
			`subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
			`subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address`,
		},
	},
	{
		name: "invalid external address", resource: "services",
		obj: `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}],"externalIPs":["x","127.0.0.1"]}}`,
		errors: []string{
			`spec.externalIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
			`spec.externalIPs[1]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`,
		},
		warnings: []string{"spec.externalIPs is deprecated and may no longer be implemented in some clusters"},
	},
	{
		name: "other families", resource: "services",
		old: `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}],"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],` +
			`"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack"}}`,
		obj: `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}],"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],` +
			`"ipFamilies":["IPv6"],"ipFamilyPolicy":"SingleStack"}}`,
		errors: []string{
			`spec.ipFamilies[0]: Invalid value: ["IPv6"]: may not change once set`,
			"spec.clusterIPs[0]: Invalid value: \"10.0.0.1\": expected an IPv6 value as indicated by `ipFamilies[0]`",
		},
	},
	{
		name: "other first of two families", resource: "services",
		old: `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}],"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],` +
			`"ipFamilies":["IPv4"],"ipFamilyPolicy":"SingleStack"}}`,
		obj: `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}],"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],` +
			`"ipFamilies":["IPv6","IPv4"],"ipFamilyPolicy":"PreferDualStack"}}`,
		errors: []string{
			`spec.ipFamilies[0]: Invalid value: ["10.0.0.1"]: may not change once set`,
			"spec.clusterIPs[0]: Invalid value: \"10.0.0.1\": expected an IPv6 value as indicated by `ipFamilies[0]`",
		},
	},
	{
		name: "no type of addresses", resource: "endpointslices",
		obj: `{"metadata":{"name":"e"},"endpoints":[{"addresses":["x"]}]}`,
		errors: []string{
			`endpoints[0].addresses[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
			`addressType: Required value`,
		},
	},
	{
		name: "unknown type of addresses", resource: "endpointslices",
		obj: `{"metadata":{"name":"e"},"addressType":"IPv5","endpoints":[]}`,
		errors: []string{
			`addressType: Unsupported value: "IPv5": supported values: "FQDN", "IPv4", "IPv6"`,
		},
	},
	{
		name: "topology of an old version", resource: "endpointslices",
		obj: `{"metadata":{"name":"e"},"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"],` +
			`"deprecatedTopology":{"a":"b"}}],"ports":[]}`,
		stored: `{"metadata":{"name":"e","generation":1},"addressType":"IPv4","endpoints":[` +
			`{"addresses":["10.0.0.1"],"conditions":{}}],"ports":[]}`,
	},
	{
		name: "invalid metadata", resource: "ingressclasses",
		old: `{"metadata":{"name":"C"},"spec":{"controller":"example.com/c"}}`,
		obj: `{"metadata":{"name":"C","finalizers":["foo"]},"spec":{"controller":"example.com/c"}}`,
		errors: []string{
			`metadata.name: Invalid value: "C": ` + invalidSubdomain,
			`metadata.finalizers[0]: Invalid value: "foo": ` + unknownFinalizer,
		},
	},
}
