package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// gatewayAPI is a module with large real CRDs. It requires a newer Go than this module, so tests download its files
// and do not import it.
const gatewayAPI = "sigs.k8s.io/gateway-api@v1.7.0"

// gatewayDir fetches the module into the module cache and returns its folder.
func gatewayDir(t *testing.T) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", gatewayAPI)
	command.Dir = t.TempDir() // outside of this module
	command.Env = append(os.Environ(), "GOTOOLCHAIN=auto", "GOFLAGS=-mod=mod")
	printed, err := command.Output()
	var module struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(printed, &module); jsonErr != nil || err != nil || module.Dir == "" {
		t.Fatalf("fetch %s: %v %s", gatewayAPI, err, module.Error)
	}
	return module.Dir
}

// gatewayCRDs reads a channel's CRDs and skips other kinds in its folder.
func gatewayCRDs(t *testing.T, channel string) []*unstructured.Unstructured {
	t.Helper()
	var definitions []*unstructured.Unstructured
	for _, object := range readManifests(t, filepath.Join(gatewayDir(t), "config/crd", channel,
		"gateway.networking.*.yaml")) {
		if object.GetKind() == "CustomResourceDefinition" {
			definitions = append(definitions, object)
		}
	}
	return definitions
}

func gatewayResource(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: plural}
}

func TestGatewayAPI(t *testing.T) {
	for channel, count := range map[string]int{"standard": 10, "experimental": 14} {
		t.Run(channel, func(t *testing.T) {
			t.Parallel()
			client := dynamicClient(t, run(t))
			definitions := gatewayCRDs(t, channel)
			if len(definitions) != count {
				t.Errorf("the channel has %d CRDs, not %d", len(definitions), count)
			}
			createCRDs(t, client, definitions)
			for _, definition := range definitions {
				listServedVersions(t, client, definition)
			}
			for _, test := range gatewayTests {
				t.Run(test.name, func(t *testing.T) {
					object := parseManifests(t, test.name, []byte(test.manifest))[0]
					_, err := client.Resource(gatewayResource(test.plural)).Namespace("default").Create(t.Context(),
						object, metav1.CreateOptions{})
					if test.want == "" && err != nil {
						t.Fatalf("rejected: %v", err)
					}
					if test.want != "" && (err == nil || err.Error() != test.want) {
						t.Fatalf("got\n%v\nwant\n%s", err, test.want)
					}
				})
			}
		})
	}
}

const validGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: %s}
spec:
  gatewayClassName: example
  listeners:
  - {name: http, port: 80, protocol: HTTP}
  - {name: https, port: 443, protocol: HTTPS, hostname: "*.example.com", tls: {certificateRefs: [{name: cert}]}}
`

const validRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s}
spec:
  parentRefs: [{name: gw}]
  hostnames: [www.example.com]
  rules:
  - matches:
    - path: {type: PathPrefix, value: /shop}
      headers: [{name: version, value: two}]
    filters:
    - type: RequestHeaderModifier
      requestHeaderModifier: {set: [{name: x-shop, value: "1"}]}
    backendRefs: [{name: shop, port: 8080, weight: 90}, {name: shop-next, port: 8080, weight: 10}]
`

// change returns a manifest named like the test, with a part of it replaced.
func change(manifest, old, new string) string {
	if !strings.Contains(manifest, old) {
		panic("nothing to replace: " + old)
	}
	return strings.Replace(fmt.Sprintf(manifest, "changed"), old, new, 1)
}

// gatewayTests are objects that must be accepted (want is ""), and objects
// that must be refused with upstream's message.
var gatewayTests = []struct{ name, plural, manifest, want string }{
	{"gateway", "gateways", fmt.Sprintf(validGateway, "gw"), ""},
	{"route", "httproutes", fmt.Sprintf(validRoute, "route"), ""},
	{"gateway without class", "gateways", change(validGateway, "gatewayClassName: example", "addresses: []"),
		`Gateway.gateway.networking.k8s.io "changed" is invalid: [spec.gatewayClassName: Required value, <nil>: Invalid ` +
			`value: null: some validation rules were not checked because the object was invalid; correct the existing errors ` +
			`to complete validation]`},
	{"gateway without listeners", "gateways",
		"apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: none}\nspec: {gatewayClassName: " +
			"example, listeners: []}",
		`Gateway.gateway.networking.k8s.io "none" is invalid: spec.listeners: Invalid value: 0: spec.listeners in body ` +
			`should have at least 1 items`},
	{"port out of range", "gateways", change(validGateway, "port: 80,", "port: 65536,"),
		`Gateway.gateway.networking.k8s.io "changed" is invalid: spec.listeners[0].port: Invalid value: 65536: ` +
			`spec.listeners[0].port in body should be less than or equal to 65535`},
	{"tls on http", "gateways", change(validGateway, "protocol: HTTP}",
		"protocol: HTTP, tls: {certificateRefs: [{name: cert}]}}"),
		`Gateway.gateway.networking.k8s.io "changed" is invalid: spec.listeners: Invalid value: tls must not be specified ` +
			`for protocols ['HTTP', 'TCP', 'UDP']`},
	{"two listeners, one name", "gateways", change(validGateway, "name: https", "name: http"),
		`Gateway.gateway.networking.k8s.io "changed" is invalid: [spec.listeners[1]: Duplicate value: {"name":"http"}, ` +
			`spec.listeners: Invalid value: Listener name must be unique within the Gateway]`},
	{"two listeners, one port", "gateways", change(validGateway,
		`port: 443, protocol: HTTPS, hostname: "*.example.com", tls: {certificateRefs: [{name: cert}]}`,
		"port: 80, protocol: HTTP"),
		`Gateway.gateway.networking.k8s.io "changed" is invalid: spec.listeners: Invalid value: Combination of port, ` +
			`protocol and hostname must be unique for each listener`},
	{"hostname for tcp", "gateways", change(validGateway, "port: 80, protocol: HTTP",
		"port: 90, protocol: TCP, hostname: a.example.com"),
		`Gateway.gateway.networking.k8s.io "changed" is invalid: spec.listeners: Invalid value: hostname must not be ` +
			`specified for protocols ['TCP', 'UDP']`},
	{"hostname is an address", "httproutes", change(validRoute, "www.example.com", "UPPER.example.com"),
		`HTTPRoute.gateway.networking.k8s.io "changed" is invalid: spec.hostnames[0]: Invalid value: "UPPER.example.com": ` +
			`spec.hostnames[0] in body should match '^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'`},
	{"path without slash", "httproutes", change(validRoute, "value: /shop", "value: shop"),
		`HTTPRoute.gateway.networking.k8s.io "changed" is invalid: spec.rules[0].matches[0].path: Invalid value: value ` +
			`must be an absolute path and start with '/' when type one of ['Exact', 'PathPrefix']`},
	{"path with dots", "httproutes", change(validRoute, "value: /shop", "value: /a/../b"),
		`HTTPRoute.gateway.networking.k8s.io "changed" is invalid: spec.rules[0].matches[0].path: Invalid value: must not ` +
			`contain '/../' when type one of ['Exact', 'PathPrefix']`},
	{"filter of another type", "httproutes", change(validRoute, "type: RequestHeaderModifier", "type: RequestRedirect"),
		`HTTPRoute.gateway.networking.k8s.io "changed" is invalid: [spec.rules[0].filters[0]: Invalid value: ` +
			`filter.requestHeaderModifier must be nil if the filter.type is not RequestHeaderModifier, ` +
			`spec.rules[0].filters[0]: Invalid value: filter.requestRedirect must be specified for RequestRedirect ` +
			`filter.type]`},
	{"redirect and backend", "httproutes", change(validRoute,
		"type: RequestHeaderModifier\n      requestHeaderModifier: {set: [{name: x-shop, value: \"1\"}]}",
		"type: RequestRedirect\n      requestRedirect: {scheme: https}"),
		`HTTPRoute.gateway.networking.k8s.io "changed" is invalid: spec.rules[0]: Invalid value: RequestRedirect filter ` +
			`must not be used together with backendRefs`},
	{"weight out of range", "httproutes", change(validRoute, "weight: 90", "weight: 1000001"),
		`HTTPRoute.gateway.networking.k8s.io "changed" is invalid: spec.rules[0].backendRefs[0].weight: Invalid value: ` +
			`1000001: spec.rules[0].backendRefs[0].weight in body should be less than or equal to 1000000`},
	{"unknown path type", "httproutes", change(validRoute, "type: PathPrefix", "type: Prefix"),
		`HTTPRoute.gateway.networking.k8s.io "changed" is invalid: [spec.rules[0].matches[0].path.type: Unsupported value: ` +
			`"Prefix": supported values: "Exact", "PathPrefix", "RegularExpression", <nil>: Invalid value: null: some ` +
			`validation rules were not checked because the object was invalid; correct the existing errors to complete ` +
			`validation]`},
	{"service without port", "httproutes", change(validRoute, "{name: shop, port: 8080, weight: 90}",
		"{name: shop, weight: 90}"),
		`HTTPRoute.gateway.networking.k8s.io "changed" is invalid: spec.rules[0].backendRefs[0]: Invalid value: Must have ` +
			`port for Service reference`},
}
