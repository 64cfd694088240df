package builtin_test

import "strings"

const (
	invalidKey = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or " +
		"'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
	unknownFinalizer = "name is neither a standard finalizer name nor is it fully qualified"
	invalidSubdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', " +
		"and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
		"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
	invalidLabel = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must " +
		"start " +
		"and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
		"'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
	immutable = "field is immutable when `immutable` is set"
)

var megabyte = strings.Repeat("x", 1<<20)

var namespaceWrites = []write{
	{
		name: "create", resource: "namespaces",
		obj: `{"metadata":{"name":"n"},"spec":{"finalizers":["example.com/a"]},"status":{"phase":"Terminating"}}`,
		stored: `{"metadata":{"name":"n","labels":{"kubernetes.io/metadata.name":"n"}},` +
			`"spec":{"finalizers":["example.com/a","kubernetes"]},"status":{"phase":"Active"}}`,
	},
	{
		name: "label of another name", resource: "namespaces",
		obj: `{"metadata":{"name":"n","labels":{"kubernetes.io/metadata.name":"other"}}}`,
		stored: `{"metadata":{"name":"n","labels":{"kubernetes.io/metadata.name":"n"}},` +
			`"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}`,
	},
	{
		name: "invalid", resource: "namespaces",
		obj: `{"metadata":{"name":"A","finalizers":["foo"]},"spec":{"finalizers":["bar","a b/c"]}}`,
		errors: []string{
			`metadata.name: Invalid value: "A": ` + invalidLabel,
			`metadata.finalizers[0]: Invalid value: "foo": ` + unknownFinalizer,
			`spec.finalizers: Invalid value: "bar": ` + unknownFinalizer,
			`spec.finalizers: Invalid value: "a b/c": prefix part ` + invalidSubdomain,
		},
	},
	{
		name: "update", resource: "namespaces",
		old: `{"metadata":{"name":"n"},"spec":{"finalizers":["kubernetes"]}}`,
		obj: `{"metadata":{"name":"n","labels":{"a":"b"}},"spec":{"finalizers":["example.com/a"]},` +
			`"status":{"phase":"Terminating"}}`,
		stored: `{"metadata":{"name":"n","labels":{"a":"b","kubernetes.io/metadata.name":"n"}},` +
			`"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}`,
	},
	{
		name: "status", resource: "namespaces/status",
		old: `{"metadata":{"name":"n"},"spec":{"finalizers":["kubernetes"]}}`,
		obj: `{"metadata":{"name":"n"},"status":{"conditions":[{"type":"A","status":"True"}]}}`,
		stored: `{"metadata":{"name":"n","labels":{"kubernetes.io/metadata.name":"n"}},` +
			`"spec":{"finalizers":["kubernetes"]},` +
			`"status":{"phase":"Active","conditions":[{"type":"A","status":"True","lastTransitionTime":null}]}}`,
	},
	{
		name: "terminating too early", resource: "namespaces/status",
		old: `{"metadata":{"name":"n"}}`,
		obj: `{"metadata":{"name":"n"},"status":{"phase":"Terminating"}}`,
		errors: []string{"status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is " +
			"empty"},
	},
	{
		name: "active too late", resource: "namespaces/status",
		old: `{"metadata":{"name":"n","deletionTimestamp":"2026-01-01T00:00:00Z"},"status":{"phase":"Terminating"}}`,
		obj: `{"metadata":{"name":"n","deletionTimestamp":"2026-01-01T00:00:00Z"},"status":{"phase":"Active"}}`,
		errors: []string{"status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not " +
			"empty"},
	},
	{
		name: "finalize", resource: "namespaces/finalize",
		old: `{"metadata":{"name":"n"},"spec":{"finalizers":["kubernetes"]}}`,
		obj: `{"metadata":{"name":"n"},"status":{"phase":"Terminating"}}`,
		stored: `{"metadata":{"name":"n","labels":{"kubernetes.io/metadata.name":"n"}},"spec":{},` +
			`"status":{"phase":"Active"}}`,
	},
	{
		name: "finalize with an unknown finalizer", resource: "namespaces/finalize",
		old:    `{"metadata":{"name":"n"}}`,
		obj:    `{"metadata":{"name":"n"},"spec":{"finalizers":["kubernetes","foo"]}}`,
		errors: []string{`spec.finalizers[1]: Invalid value: "foo": ` + unknownFinalizer},
	},
}

var configMapWrites = []write{
	{
		name: "invalid", resource: "configmaps",
		obj: `{"metadata":{"name":"C","finalizers":["foo"]},"data":{"a":"","b c":""},"binaryData":{"a":"","d e":null}}`,
		errors: []string{
			`metadata.name: Invalid value: "C": ` + invalidSubdomain,
			`metadata.finalizers[0]: Invalid value: "foo": ` + unknownFinalizer,
			`data[a]: Invalid value: "a": duplicate of key present in binaryData`,
			`data[b c]: Invalid value: "b c": ` + invalidKey,
			`binaryData[d e]: Invalid value: "d e": ` + invalidKey,
		},
	},
	{
		name: "null is empty", resource: "configmaps",
		obj:    `{"metadata":{"name":"c"},"data":{"a":null},"binaryData":{"b":null}}`,
		stored: `{"metadata":{"name":"c"},"data":{"a":""},"binaryData":{"b":""}}`,
	},
	{
		name: "too long", resource: "configmaps",
		obj:    `{"metadata":{"name":"c"},"data":{"a":"` + megabyte + `"},"binaryData":{"b":"eA=="}}`,
		errors: []string{"[]: Too long: may not be more than 1048576 bytes"},
	},
	{
		name: "long", resource: "configmaps",
		obj: `{"metadata":{"name":"c"},"data":{"a":"` + megabyte + `"}}`,
	},
	{
		name: "immutable", resource: "configmaps",
		old: `{"metadata":{"name":"c"},"immutable":true,"data":{"a":"b"},"binaryData":{"c":"eA=="}}`,
		obj: `{"metadata":{"name":"c"},"data":{"a":"c"}}`,
		errors: []string{
			"immutable: Forbidden: " + immutable, "data: Forbidden: " + immutable, "binaryData: Forbidden: " + immutable,
		},
	},
	{
		name: "immutable without data", resource: "configmaps",
		old: `{"metadata":{"name":"c"},"immutable":true,"data":{}}`,
		obj: `{"metadata":{"name":"c","labels":{"a":"b"}},"immutable":true}`,
	},
	{
		name: "becomes immutable", resource: "configmaps",
		old: `{"metadata":{"name":"c"},"immutable":false,"data":{"a":"b"}}`,
		obj: `{"metadata":{"name":"c"},"immutable":true,"data":{"a":"c"}}`,
	},
}

var secretWrites = []write{
	{
		name: "stringData", resource: "secrets",
		obj:    `{"metadata":{"name":"s"},"data":{"a":"eA==","n":null},"stringData":{"a":"y","b":""}}`,
		stored: `{"metadata":{"name":"s"},"data":{"a":"eQ==","b":"","n":""},"type":"Opaque"}`,
	},
	{
		name: "only stringData", resource: "secrets",
		obj:    `{"metadata":{"name":"s"},"stringData":{"a":"y"},"type":"example.com/own"}`,
		stored: `{"metadata":{"name":"s"},"data":{"a":"eQ=="},"type":"example.com/own"}`,
	},
	{
		name: "invalid keys", resource: "secrets",
		obj: `{"metadata":{"name":"s","finalizers":["foo"]},"stringData":{"a/b":"","..":""}}`,
		errors: []string{
			`metadata.finalizers[0]: Invalid value: "foo": ` + unknownFinalizer,
			`data[..]: Invalid value: "..": must not be '..'`,
			`data[a/b]: Invalid value: "a/b": ` + invalidKey,
		},
	},
	{
		name: "too long", resource: "secrets",
		obj:    `{"metadata":{"name":"s"},"data":{"b":"eA=="},"stringData":{"a":"` + megabyte + `"}}`,
		errors: []string{"data: Too long: may not be more than 1048576 bytes"},
	},
	{
		name: "token", resource: "secrets",
		obj:    `{"metadata":{"name":"s"},"type":"kubernetes.io/service-account-token"}`,
		errors: []string{"metadata.annotations[kubernetes.io/service-account.name]: Required value"},
	},
	{
		name: "dockercfg", resource: "secrets",
		obj:    `{"metadata":{"name":"s"},"type":"kubernetes.io/dockercfg"}`,
		errors: []string{"data[.dockercfg]: Required value"},
	},
	{
		name: "dockercfg that is a list", resource: "secrets",
		obj: `{"metadata":{"name":"s"},"type":"kubernetes.io/dockercfg","stringData":{".dockercfg":"[]"}}`,
		errors: []string{`data[.dockercfg]: Invalid value: "<secret contents redacted>": ` +
			"json: cannot unmarshal array into Go value of type map[string]interface {}"},
	},
	{
		name: "dockerconfigjson", resource: "secrets",
		obj:    `{"metadata":{"name":"s"},"type":"kubernetes.io/dockerconfigjson"}`,
		errors: []string{"data[.dockerconfigjson]: Required value"},
	},
	{
		name: "dockerconfigjson that is cut off", resource: "secrets",
		obj: `{"metadata":{"name":"s"},"type":"kubernetes.io/dockerconfigjson","stringData":{".dockerconfigjson":"{"}}`,
		errors: []string{
			`data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": unexpected end of JSON input`,
		},
	},
	{
		name: "dockerconfigjson of any content", resource: "secrets",
		obj: `{"metadata":{"name":"s"},"type":"kubernetes.io/dockerconfigjson","stringData":{".dockerconfigjson":"{}"}}`,
	},
	{
		name: "basic-auth", resource: "secrets",
		obj:    `{"metadata":{"name":"s"},"type":"kubernetes.io/basic-auth"}`,
		errors: []string{"data[username]: Required value", "data[password]: Required value"},
	},
	{
		name: "basic-auth with a password", resource: "secrets",
		obj: `{"metadata":{"name":"s"},"type":"kubernetes.io/basic-auth","stringData":{"password":""}}`,
	},
	{
		name: "ssh-auth", resource: "secrets",
		obj:    `{"metadata":{"name":"s"},"type":"kubernetes.io/ssh-auth","stringData":{"ssh-privatekey":""}}`,
		errors: []string{"data[ssh-privatekey]: Required value"},
	},
	{
		name: "tls", resource: "secrets",
		obj:      `{"metadata":{"name":"s"},"type":"kubernetes.io/tls"}`,
		errors:   []string{"data[tls.crt]: Required value", "data[tls.key]: Required value"},
		warnings: []string{"tls: failed to find any PEM data in certificate input"},
	},
	{
		name: "tls without a certificate", resource: "secrets",
		obj:      `{"metadata":{"name":"s"},"type":"kubernetes.io/tls","stringData":{"tls.crt":"","tls.key":""}}`,
		warnings: []string{"tls: failed to find any PEM data in certificate input"},
	},
	{
		name: "tls update", resource: "secrets",
		old:      `{"metadata":{"name":"s"},"type":"kubernetes.io/tls","stringData":{"tls.crt":"","tls.key":""}}`,
		obj:      `{"metadata":{"name":"s"},"type":"kubernetes.io/tls","stringData":{"tls.crt":"x","tls.key":""}}`,
		warnings: []string{"tls: failed to find any PEM data in certificate input"},
	},
	{
		name: "other type", resource: "secrets",
		old:    `{"metadata":{"name":"s"},"type":"example.com/own"}`,
		obj:    `{"metadata":{"name":"s"}}`,
		errors: []string{`type: Invalid value: "Opaque": field is immutable`},
	},
	{
		name: "immutable", resource: "secrets",
		old:    `{"metadata":{"name":"s"},"immutable":true,"data":{"a":"eA=="}}`,
		obj:    `{"metadata":{"name":"s"},"immutable":false,"stringData":{"a":"y"}}`,
		errors: []string{"immutable: Forbidden: " + immutable, "data: Forbidden: " + immutable},
	},
	{
		name: "immutable and unchanged", resource: "secrets",
		old: `{"metadata":{"name":"s"},"immutable":true,"data":{"a":"eA=="}}`,
		obj: `{"metadata":{"name":"s","labels":{"a":"b"}},"immutable":true,"stringData":{"a":"x"}}`,
	},
}
