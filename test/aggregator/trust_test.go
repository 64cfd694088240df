package aggregator

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"k8s.io/client-go/rest"
)

// somewhere is a path without content, for checks of access.
func somewhere(namespace string) string {
	return "/apis/nothing.example.com/v1/namespaces/" + namespace + "/things"
}

// ask sends a request for somewhere to crd-server directly, and returns the status code.
func (i *installation) ask(config rest.TLSClientConfig, token string, header http.Header, namespace string) int {
	i.Helper()
	config.CAData = i.serving.pem()
	client, err := rest.HTTPClientFor(&rest.Config{BearerToken: token, TLSClientConfig: config})
	if err != nil {
		i.Fatal(err)
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(i.Context(), http.MethodGet, i.server.URL+somewhere(namespace), nil)
	if err != nil {
		i.Fatal(err)
	}
	maps.Copy(req.Header, header)
	resp, err := client.Do(req)
	if err != nil {
		i.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// TestTrust sends front proxy headers to crd-server directly. Only the certificate of the proxy makes them count.
func TestTrust(t *testing.T) {
	t.Parallel()
	i := install(t)
	certified := func(c issued) rest.TLSClientConfig { return rest.TLSClientConfig{CertData: c.cert, KeyData: c.key} }
	forged := http.Header{"X-Remote-User": {"root"}, "X-Remote-Group": {"system:masters"}, "X-Remote-Uid": {"0"},
		"X-Remote-Extra-Scopes": {"all"}}
	nobody := rest.TLSClientConfig{}
	jane := certified(i.clients.client(t, "jane", "editors"))
	tests := []struct {
		name   string
		config rest.TLSClientConfig
		token  string
		header http.Header
		status int
		// user and groups are those of the access review; "" means that there is none.
		user   string
		groups []string
	}{
		{name: "no credential", config: nobody, status: 401},
		{name: "headers without a certificate", config: nobody, header: forged, status: 401},
		{name: "headers with a user's certificate", config: jane, header: forged, status: 404,
			user: "jane", groups: []string{"editors", "system:authenticated"}},
		{name: "headers with a certificate of the proxy's name, signed by the users' authority",
			config: certified(i.clients.client(t, proxyName)), header: forged, status: 403, user: proxyName,
			groups: []string{"system:authenticated"}},
		{name: "headers with a certificate of another name, signed by the proxies' authority",
			config: certified(i.proxies.client(t, "another-proxy")), header: forged, status: 401},
		{name: "headers with a certificate that nobody knows",
			config: certified(newAuthority(t, "stranger").client(t, proxyName)), header: forged, status: 401},
		{name: "headers with a token", config: nobody, token: "robots-token", header: forged, status: 404,
			user: "robot", groups: []string{"readers", "system:authenticated"}},
		{name: "a token that nobody knows", config: nobody, token: "guess", status: 401},
		{name: "the proxy, without headers", config: certified(i.proxies.client(t, proxyName)), status: 401},
		{name: "the proxy, for joe", config: certified(i.proxies.client(t, proxyName)),
			header: http.Header{"X-Remote-User": {"joe"}, "X-Remote-Group": {"readers", "day shift"}}, status: 404,
			user: "joe", groups: []string{"readers", "day shift", "system:authenticated"}},
		{name: "the proxy, for root", config: certified(i.proxies.client(t, proxyName)), header: forged, status: 404},
	}
	for n, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			namespace := fmt.Sprint("n", n)
			status := i.ask(test.config, test.token, test.header, namespace)
			review := i.core.reviewOf(namespace)
			if status != test.status || review.User != test.user || !slices.Equal(review.Groups, test.groups) {
				t.Errorf("got %d, %q of %q, want %d, %q of %q", status, review.User, review.Groups, test.status,
					test.user, test.groups)
			}
		})
	}
}

// TestUserArrives checks that the aggregator passes the user to crd-server, and that crd-server asks the host cluster
// what that user may do.
func TestUserArrives(t *testing.T) {
	t.Parallel()
	i := install(t)
	i.kubectl(i.server.Kubeconfig).run("apply", "-f", samples)
	i.available("v1.stable.example.com")
	i.eventuallyDiscovered("stable.example.com")
	i.kubectl(i.kubeconfig("jane", "editors", "night shift")).prints("get ct -n elsewhere",
		"No resources found in elsewhere namespace")

	review := i.core.reviewOf("elsewhere")
	if review.User != "jane" {
		t.Fatalf("the host cluster was not asked about jane: %+v", review)
	}
	if want := []string{"editors", "night shift", "system:authenticated"}; !slices.Equal(review.Groups, want) {
		t.Errorf("jane's groups are %q, not %q", review.Groups, want)
	}
	if len(review.Extra["authentication.kubernetes.io/credential-id"]) != 1 {
		t.Errorf("jane's credential has no name: %v", review.Extra)
	}
	asked := review.ResourceAttributes
	if asked.Group != "stable.example.com" || asked.Version != "v1" || asked.Resource != "crontabs" ||
		asked.Namespace != "elsewhere" {
		t.Errorf("what is asked: %+v", asked)
	}
	i.kubectl(i.kubeconfig("eve")).fails("get ct",
		`User "eve" cannot list resource "crontabs" in API group "stable.example.com" in the namespace "default"`)
}
