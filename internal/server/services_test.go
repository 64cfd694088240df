package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

const (
	servicesPath = "/api/v1/namespaces/default/services"
	ipsPath      = "/apis/networking.k8s.io/v1/ipaddresses"
)

// serviceJSON is the JSON of a Service with one port. fields are further ones of the spec.
func serviceJSON(name, fields string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"ports":[{"port":80}]%s}}`, name, fields)
}

// service decodes a Service.
func (a answer) service(t *testing.T) *corev1.Service {
	t.Helper()
	service := &corev1.Service{}
	if err := json.Unmarshal([]byte(a.body), service); err != nil {
		t.Fatal(err)
	}
	return service
}

// addresses returns the IPAddresses of Services in the namespace default, besides that of the server itself.
func (p *person) addresses() map[string]string {
	p.t.Helper()
	var list networkingv1.IPAddressList
	if err := json.Unmarshal([]byte(p.must(http.StatusOK, http.MethodGet, ipsPath, "").body), &list); err != nil {
		p.t.Fatal(err)
	}
	found := map[string]string{}
	for _, ip := range list.Items {
		if name := ip.Spec.ParentRef.Name; name != "kubernetes" {
			found[name] += ip.Name
		}
	}
	return found
}

// TestClusterIPs follows the addresses of Services from their creation to their release.
func TestClusterIPs(t *testing.T) {
	t.Parallel()
	root := startWhole(t, "--builtin-resources=all", "--service-cluster-ip-range=10.96.0.0/24").root()
	created := root.must(201, "POST", servicesPath, serviceJSON("a", "")).service(t)
	ip := created.Spec.ClusterIP
	if address, err := netip.ParseAddr(ip); err != nil || !netip.MustParsePrefix("10.96.0.0/24").Contains(address) {
		t.Fatalf("cluster IP %q", ip)
	}
	if ips := root.addresses(); len(ips) != 1 || ips["a"] != ip {
		t.Errorf("IPAddresses %v", ips)
	}
	taken := root.must(422, "POST", servicesPath, serviceJSON("b", `,"clusterIP":"`+ip+`"`)).status(t)
	want := "failed to allocate IP " + ip + ": provided IP is already allocated"
	if !strings.Contains(taken.Message, want) {
		t.Errorf("message %q", taken.Message)
	}
	outside := root.must(422, "POST", servicesPath, serviceJSON("b", `,"clusterIP":"10.97.0.1"`)).status(t)
	if want = "the provided network does not match the current range"; !strings.Contains(outside.Message, want) {
		t.Errorf("message %q", outside.Message)
	}
	// What is not stored takes nothing.
	root.must(422, "POST", servicesPath, serviceJSON("b", `,"sessionAffinity":"Never"`))
	root.must(409, "POST", servicesPath, serviceJSON("a", ""))
	root.must(201, "POST", servicesPath+"?dryRun=All", serviceJSON("b", ""))
	root.must(200, "DELETE", servicesPath+"/a?dryRun=All", "")
	if ips := root.addresses(); len(ips) != 1 || ips["a"] != ip {
		t.Errorf("IPAddresses %v", ips)
	}
	// The manifest may be sent again, by PUT and by an apply that creates.
	root.must(200, "PUT", servicesPath+"/a", serviceJSON("a", ""))
	applied := root.must(201, "PATCH", servicesPath+"/c?fieldManager=test",
		`{"apiVersion":"v1","kind":"Service",`+serviceJSON("c", "")[1:], "Content-Type", "application/apply-patch+yaml")
	if ips := root.addresses(); len(ips) != 2 || ips["c"] != applied.service(t).Spec.ClusterIP || ips["a"] != ip {
		t.Errorf("IPAddresses %v", ips)
	}
	// A Service that becomes a name gives its address up, and gets another one when it changes back.
	merge := []string{"Content-Type", "application/merge-patch+json"}
	root.must(200, "PATCH", servicesPath+"/a", `{"spec":{"type":"ExternalName","externalName":"example.com"}}`, merge...)
	if ips := root.addresses(); len(ips) != 1 {
		t.Errorf("IPAddresses %v", ips)
	}
	root.must(422, "PATCH", servicesPath+"/a", `{"spec":{"type":"ClusterIP","sessionAffinity":"Never"}}`, merge...)
	root.must(200, "PATCH", servicesPath+"/a?dryRun=All", `{"spec":{"type":"ClusterIP"}}`, merge...)
	if ips := root.addresses(); len(ips) != 1 {
		t.Errorf("IPAddresses %v", ips)
	}
	again := root.must(200, "PATCH", servicesPath+"/a", `{"spec":{"type":"ClusterIP"}}`, merge...).service(t)
	if ips := root.addresses(); ips["a"] == "" || ips["a"] != again.Spec.ClusterIP {
		t.Errorf("IPAddresses %v, cluster IP %q", ips, again.Spec.ClusterIP)
	}
	// One with a finalizer keeps its address until that is removed.
	root.must(200, "PATCH", servicesPath+"/a", `{"metadata":{"finalizers":["example.com/a"]}}`, merge...)
	root.must(200, "DELETE", servicesPath+"/a", "")
	if ips := root.addresses(); ips["a"] == "" {
		t.Errorf("IPAddresses %v", ips)
	}
	root.must(200, "PATCH", servicesPath+"/a/status", `{"metadata":{"finalizers":null}}`, merge...)
	root.must(200, "DELETE", servicesPath, "") // that of the server too
	if ips := root.addresses(); len(ips) != 0 {
		t.Errorf("IPAddresses %v", ips)
	}
}

// TestConcurrentClusterIPs creates Services at the same time: in a range that is too small for all of them, and with
// the same node port.
func TestConcurrentClusterIPs(t *testing.T) {
	t.Parallel()
	root := startWhole(t, "--builtin-resources=all", "--service-cluster-ip-range=10.96.0.0/28").root()
	const tries, available = 24, 14
	codes := make([]int, tries)
	var all sync.WaitGroup
	for n := range codes {
		all.Go(func() { codes[n] = root.send("POST", servicesPath, serviceJSON(fmt.Sprint("s", n), "")).code })
	}
	all.Wait()
	created := 0
	for _, code := range codes {
		if code == http.StatusCreated {
			created++
		} else if code != http.StatusInternalServerError {
			t.Errorf("a full range is answered with %d", code)
		}
	}
	ips := root.addresses()
	unique := map[string]bool{}
	for _, ip := range ips {
		unique[ip] = true
	}
	if len(ips) != created || len(unique) != created || created != available-1 { // the server has one
		t.Errorf("%d Services were created, with addresses %v", created, ips)
	}
	full := root.must(500, "POST", servicesPath, serviceJSON("more", "")).status(t)
	if !strings.Contains(full.Message, `failed to allocate a serviceIP for Service "more": range is full`) {
		t.Errorf("message %q", full.Message)
	}
	root.must(200, "DELETE", servicesPath, "")

	const node = `,"type":"NodePort"`
	for n := range codes[:8] {
		all.Go(func() {
			body := strings.Replace(serviceJSON(fmt.Sprint("n", n), node), `"port":80`, `"port":80,"nodePort":30100`, 1)
			codes[n] = root.send("POST", servicesPath, body).code
		})
	}
	all.Wait()
	created = 0
	for _, code := range codes[:8] {
		if code == http.StatusCreated {
			created++
		}
	}
	if created != 1 {
		t.Errorf("%d Services have the same node port", created)
	}
}

// TestNodePorts follows node ports from the creation of a Service to their release.
func TestNodePorts(t *testing.T) {
	t.Parallel()
	root := startWhole(t, "--builtin-resources=all", "--service-node-port-range=31000-31001").root()
	nodePort := func(a answer) int32 { return a.service(t).Spec.Ports[0].NodePort }
	const node = `,"type":"NodePort"`
	a := nodePort(root.must(201, "POST", servicesPath, serviceJSON("a", node)))
	b := nodePort(root.must(201, "POST", servicesPath, serviceJSON("b", node)))
	if a == b || min(a, b) != 31000 || max(a, b) != 31001 {
		t.Errorf("node ports %d and %d", a, b)
	}
	full := root.must(500, "POST", servicesPath, serviceJSON("c", node)).status(t)
	if !strings.Contains(full.Message, "failed to allocate a nodePort: range is full") {
		t.Errorf("message %q", full.Message)
	}
	named := func(port int32) string {
		return strings.Replace(serviceJSON("c", node), `"port":80`, fmt.Sprintf(`"port":80,"nodePort":%d`, port), 1)
	}
	taken := root.must(422, "POST", servicesPath, named(a)).status(t)
	if !strings.Contains(taken.Message, "provided port is already allocated") {
		t.Errorf("message %q", taken.Message)
	}
	outside := root.must(422, "POST", servicesPath, named(30999)).status(t)
	if !strings.Contains(outside.Message, "The range of valid ports is 31000-31001") {
		t.Errorf("message %q", outside.Message)
	}
	if again := nodePort(root.must(200, "PUT", servicesPath+"/a", serviceJSON("a", node))); again != a {
		t.Errorf("node port %d has become %d", a, again)
	}
	root.must(200, "PATCH", servicesPath+"/a", `{"spec":{"type":"ClusterIP"}}`,
		"Content-Type", "application/merge-patch+json")
	root.must(201, "POST", servicesPath+"?dryRun=All", named(a))
	root.must(201, "POST", servicesPath, named(a))
}

// TestDualStack checks Services with addresses of both families.
func TestDualStack(t *testing.T) {
	t.Parallel()
	root := startWhole(t, "--builtin-resources=all", "--service-cluster-ip-range=fd00::/112,10.96.0.0/24").root()
	merge := []string{"Content-Type", "application/merge-patch+json"}
	single := root.must(201, "POST", servicesPath, serviceJSON("a", "")).service(t)
	if spec := single.Spec; len(spec.ClusterIPs) != 1 || !strings.HasPrefix(spec.ClusterIP, "fd00::") {
		t.Errorf("spec %+v", spec)
	}
	become := func(policy string) *corev1.Service {
		patch := fmt.Sprintf(`{"spec":{"ipFamilyPolicy":%q}}`, policy)
		return root.must(200, "PATCH", servicesPath+"/a", patch, merge...).service(t)
	}
	dual := become("RequireDualStack")
	if spec := dual.Spec; len(spec.ClusterIPs) != 2 || spec.ClusterIP != single.Spec.ClusterIP ||
		!strings.HasPrefix(spec.ClusterIPs[1], "10.96.0.") {
		t.Errorf("spec %+v", spec)
	}
	if ips := root.addresses()["a"]; len(ips) != len(strings.Join(dual.Spec.ClusterIPs, "")) {
		t.Errorf("IPAddresses %q of %v", ips, dual.Spec.ClusterIPs)
	}
	spec := become("SingleStack").Spec
	if len(spec.ClusterIPs) != 1 || len(spec.IPFamilies) != 1 || root.addresses()["a"] != spec.ClusterIP {
		t.Errorf("spec %+v, IPAddresses %v", spec, root.addresses())
	}
}
