package kubeapiserver

import (
	"crypto/x509"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/pflag"
	"k8s.io/client-go/util/cert"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/crd-server/crd-server/internal/access/authorization"
	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/server"
)

// generated returns a self-signed certificate and its key, which all tests share.
var generated = sync.OnceValues(func() (certificate, key []byte) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		panic(err)
	}
	return certificate, key
})

// certDir returns a directory with a certificate.
func certDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	certificate, key := generated()
	for name, content := range map[string][]byte{"apiserver.crt": certificate, "apiserver.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// complete parses arguments besides those that every server needs, and returns the options of the server.
func complete(t *testing.T, dir string, args ...string) (*server.Options, error) {
	t.Helper()
	completed := server.NewOptions()
	options := NewOptions(completed)
	flags := pflag.NewFlagSet("kube-apiserver", pflag.ContinueOnError)
	flags.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	for _, group := range options.Flags().FlagSets {
		flags.AddFlagSet(group)
	}
	args = append([]string{"--etcd-servers=http://127.0.0.1:2379", "--cert-dir=" + dir}, args...)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	_, err := options.Complete()
	return completed, err
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	dir := certDir(t)
	o, err := complete(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if o.DataDir != "" || o.Resources.Builtin != builtin.TierAll || len(o.Resources.Controllers) > 0 ||
		o.Resources.GarbageCollection != cliflag.True || !o.Serving.BindAddress.Equal(net.IPv4zero) {
		t.Errorf("got %+v %+v", o.Resources, o.Serving)
	}
	if !slices.Equal(o.Authorization.Modes, []string{authorization.ModeAlwaysAllow}) ||
		o.Authentication.AnonymousByDefault {
		t.Errorf("modes %v, anonymous %v", o.Authorization.Modes, o.Authentication.AnonymousByDefault)
	}
	if !o.Authorization.OnlyModes || len(o.Authorization.AlwaysAllowPaths) > 0 {
		t.Errorf("authorization has built-in rules: %+v", o.Authorization)
	}
	if o.Serving.CertFile != filepath.Join(dir, "apiserver.crt") ||
		o.Serving.KeyFile != filepath.Join(dir, "apiserver.key") {
		t.Errorf("certificate %s, %s", o.Serving.CertFile, o.Serving.KeyFile)
	}
	if len(o.Unused) > 0 {
		t.Errorf("flags without effect: %v", o.Unused)
	}
}

func TestAnonymousUsers(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		"--authorization-mode=RBAC":        true,
		"--authorization-mode=Node,RBAC":   true,
		"--authorization-mode=AlwaysAllow": false,
	} {
		o, err := complete(t, certDir(t), strings.Fields(args)...)
		if err != nil || o.Authentication.AnonymousByDefault != want {
			t.Errorf("%s: got %v, %v", args, o.Authentication.AnonymousByDefault, err)
		}
	}
}

// TestUnused checks which flags are named as those without effect.
func TestUnused(t *testing.T) {
	t.Parallel()
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	for args, want := range map[string]string{
		"--allow-privileged":                                       "--allow-privileged",
		"--allow-privileged=true --watch-cache-sizes=x#1":          "--allow-privileged --watch-cache-sizes",
		"--kubernetes_service_node_port=30000":                     "--kubernetes-service-node-port",
		"--service-node-port-range=30000-30100":                    "",
		"--disable-admission-plugins=DefaultStorageClass":          "",
		"--feature-gates=InPlacePodVerticalScaling=true":           "--feature-gates=InPlacePodVerticalScaling=true",
		"--feature-gates=kube:ImageVolume=true,AllBeta=false":      "--feature-gates=ImageVolume=true",
		"--feature-gates=WatchList=true":                           "",
		"--enable-admission-plugins=PodNodeSelector,ResourceQuota": "--enable-admission-plugins=PodNodeSelector",
		"--disable-admission-plugins=ServiceAccount,Priority":      "",
		"--admission-control=NamespaceLifecycle,EventRateLimit":    "--enable-admission-plugins=EventRateLimit",
		"--audit-log-path=-":                                       "--audit-log-path",
		"--audit-policy-file=" + policy:                            "--audit-policy-file",
		"--authorization-mode=Node,RBAC":                           "--authorization-mode=Node",
		"--requestheader-group-headers=X-Remote-Group":             "--requestheader-...",
		"--service-cluster-ip-range=10.1.0.0/16 --max-requests-inflight=800 --runtime-config=api/beta=true": "",
	} {
		o, err := complete(t, certDir(t), strings.Fields(args)...)
		if err != nil {
			t.Errorf("%s: %v", args, err)
		} else if got := strings.Join(o.Unused, " "); got != want {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
}

// TestAdmissionControl checks that the old flag disables all plugins that it does not name.
func TestAdmissionControl(t *testing.T) {
	t.Parallel()
	o, err := complete(t, certDir(t), "--admission-control=NamespaceLifecycle,ResourceQuota")
	if err != nil {
		t.Fatal(err)
	}
	if !o.Admission.HasNamespaceLifecycle(true) || !o.Admission.HasResourceQuota(true) {
		t.Errorf("enabled: %v", o.Admission.Enable)
	}
	if !slices.Contains(o.Admission.Disable, "MutatingAdmissionWebhook") {
		t.Errorf("disabled: %v", o.Admission.Disable)
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--enable-admission-plugins=Nonsense":               `--enable-admission-plugins: plugin "Nonsense" is unknown`,
		"--disable-admission-plugins=Nonsense":              `--disable-admission-plugins: plugin "Nonsense" is unknown`,
		"--feature-gates=Nonsense=true":                     `--feature-gates: unknown feature "Nonsense"`,
		"--feature-gates=WatchList=perhaps":                 "--feature-gates: ",
		"--feature-gates=InPlacePodVerticalScaling=perhaps": "--feature-gates: ",
		"--feature-gates=wardle:WatchList=true":             `--feature-gates: component "wardle" is not kube`,
		"--runtime-config=nonsense/v1=true":                 "--runtime-config: unknown API groups nonsense/v1",
		"--secure-port=99999":                               "--secure-port must be between 0 and 65535, not 99999",
		"--authorization-mode=ABAC":                         "--authorization-mode: ABAC",
		"--tls-min-version=VersionTLS9":                     "--tls-min-version: ",
		"--tls-cipher-suites=NONSENSE":                      "--tls-cipher-suites: ",
		"--tls-curve-preferences=99999":                     "--tls-curve-preferences: ",

		"--admission-control=AlwaysAdmit --enable-admission-plugins=AlwaysPullImages": "--admission-control excludes ",
	} {
		dir := t.TempDir()
		_, err := complete(t, dir, strings.Fields(args)...)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%s wrote %v %v", args, entries, err)
		}
	}
}

// TestCertificateIsGenerated checks the names of a certificate that is generated, and that it is kept.
func TestCertificateIsGenerated(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "certs")
	args := []string{"--bind-address=10.1.2.3", "--advertise-address=10.1.2.4", "--external-hostname=api.example.com"}
	var before []byte
	for range 2 {
		o, err := complete(t, dir, args...)
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(o.Serving.CertFile)
		if err != nil {
			t.Fatal(err)
		}
		if before != nil && !slices.Equal(before, content) {
			t.Error("the certificate was generated again")
		}
		before = content
	}
	certificates, err := cert.ParseCertsPEM(before)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	for _, certificate := range certificates {
		roots.AddCert(certificate)
	}
	for _, name := range []string{
		"localhost", "127.0.0.1", "::1", "10.1.2.3", "10.1.2.4", "api.example.com", "kubernetes.default.svc",
	} {
		if _, err := certificates[0].Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTables checks that each flag of kube-apiserver is a flag of the server, one that has no effect, or one of
// addFlags; and that the tables are sorted.
func TestTables(t *testing.T) {
	t.Parallel()
	own := map[string]bool{}
	for _, group := range server.NewOptions().Flags().FlagSets {
		group.VisitAll(func(flag *pflag.Flag) { own[flag.Name] = true })
	}
	known := readTables()
	for _, name := range known.Served {
		if !own[name] {
			t.Errorf("the server has no flag --%s", name)
		}
	}
	for name := range known.Unused {
		if slices.Contains(known.Served, name) {
			t.Errorf("--%s is in both tables", name)
		}
	}
	if !slices.IsSorted(known.Served) || !slices.IsSorted(known.Features) || !slices.IsSorted(known.Plugins) {
		t.Error("a table is not sorted")
	}
}

// TestFeatureGates checks that gates of both forms reach the server.
func TestFeatureGates(t *testing.T) {
	t.Parallel()
	o, err := complete(t, certDir(t), "--feature-gates=WatchList=false,kube:StorageVersionHash=true",
		"--feature-gates=AllAlpha=true")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"WatchList": false, "StorageVersionHash": true, "AllAlpha": true}
	if !maps.Equal(o.FeatureGates, want) {
		t.Errorf("got %v", o.FeatureGates)
	}
}
