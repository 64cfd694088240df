package webhookservices

import (
	"strings"
	"testing"
)

// TestResolve checks which rule decides about a service.
func TestResolve(t *testing.T) {
	t.Parallel()
	rules := []string{
		"shop/hook:8443=https://127.0.0.1:1", "shop/hook=https://127.0.0.1:2", "shop/*=https://shop.example.com",
		"cluster/*=dns", "*/six:*=https://[::1]:6",
	}
	for _, test := range []struct {
		namespace, name string
		port            int32
		inCluster       bool
		host, err       string
	}{
		{"shop", "hook", 8443, false, "127.0.0.1:1", ""},
		{"shop", "hook", 443, false, "127.0.0.1:2", ""},
		{"shop", "other", 443, false, "shop.example.com:443", ""},
		{"cluster", "a", 443, false, "a.cluster.svc:443", ""},
		{"any", "six", 9, false, "[::1]:6", ""},
		{"any", "other", 443, true, "other.any.svc:443", ""},
		{"any", "other", 443, false, "", "start the server with --service-resolution any/other=https://HOST:PORT"},
	} {
		o := Options{Rules: rules}
		if errs := o.Validate(); len(errs) > 0 {
			t.Fatal(errs)
		}
		u, err := o.Resolver(test.inCluster).ResolveEndpoint(test.namespace, test.name, test.port)
		switch {
		case err != nil && (test.err == "" || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%s/%s:%d: %v", test.namespace, test.name, test.port, err)
		case err == nil && (u.Host != test.host || u.Scheme != "https"):
			t.Errorf("%s/%s:%d is at %s, want %s", test.namespace, test.name, test.port, u, test.host)
		}
	}
}

// TestInvalidRules checks that mistakes in rules are refused with the name of the flag.
func TestInvalidRules(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{
		"", "shop", "shop/hook", "hook=https://a:1", "shop/hook=", "shop/hook=http://a:1", "shop/hook=https://",
		"shop/hook=https://a:1/path", "shop/hook=https://user@a:1", "shop/hook=https://a:1?q", "shop/hook:0=https://a:1",
		"shop/hook:65536=https://a:1", "shop/hook:x=https://a:1", "shop/hook:=https://a:1", "Shop/hook=https://a:1",
		"/hook=https://a:1", "shop/=https://a:1", "shop/a.b=https://a:1", "a/b/c=https://a:1", "shop/hook=https://a:port",
	} {
		errs := (&Options{Rules: []string{rule}}).Validate()
		if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), "--service-resolution "+rule+": ") {
			t.Errorf("%q: %v", rule, errs)
		}
	}
}

// FuzzRule checks that a valid rule resolves to an address.
func FuzzRule(f *testing.F) {
	for _, rule := range []string{"shop/hook:8443=https://127.0.0.1:1", "*/*=dns", "a/b:*=https://[::1]",
		"a/b=https://c%41"} {
		f.Add(rule)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRule(text)
		if err != nil {
			return
		}
		if r.namespace == "" || r.name == "" {
			t.Errorf("%q names no service", text)
		}
		if r.address != nil && (r.address.Host == "" || r.address.Port() == "" || r.address.Path != "") {
			t.Errorf("%q has the address %s", text, r.address)
		}
	})
}
