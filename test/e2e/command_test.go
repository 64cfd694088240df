package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/crd-server/crd-server/test/port"
	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// TestMistakes starts the server with options that cannot work. It must print one line with the reason and exit with
// code 1.
func TestMistakes(t *testing.T) {
	t.Parallel()
	running := run(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("kind: Nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		want []string // parts of the line
	}{
		{"port taken", []string{"--secure-port", strconv.Itoa(running.Port())},
			[]string{strconv.Itoa(running.Port()), "in use"}},
		{"data directory in use", []string{"--data-dir", running.DataDir}, []string{running.DataDir}},
		{"data directory is a file", []string{"--data-dir", file}, []string{file}},
		{"data directory below a file", []string{"--data-dir", filepath.Join(file, "data")}, []string{file}},
		{"unknown flag", []string{"--such-port", "1"}, []string{"such-port"}},
		{"value that is none", []string{"--secure-port", "many"}, []string{"secure-port", "many"}},
		{"port out of range", []string{"--secure-port", "65536"}, []string{"secure-port"}},
		{"argument too many", []string{"serve"}, []string{"serve"}},
		{"etcd unreachable", []string{"--etcd-servers", "http://" + closedAddress(t)}, []string{"etcd"}},
		{"certificate missing", []string{"--tls-cert-file", file + ".crt", "--tls-private-key-file", file + ".key"},
			[]string{file + ".crt"}},
		{"certificate that is none", []string{"--tls-cert-file", file, "--tls-private-key-file", file}, []string{file}},
		{"file that has no CRD", []string{"--crds", file}, []string{file}},
		{"file that is not there", []string{"--crds", file + ".yaml"}, []string{file + ".yaml"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
			defer cancel()
			command := exec.CommandContext(ctx, programs.Server(),
				append([]string{"--data-dir", dir, "--secure-port", "0"}, test.args...)...)
			printed, err := command.CombinedOutput()
			if code := command.ProcessState.ExitCode(); code != 1 {
				t.Fatalf("exit code %d (%v)\n%s", code, err, printed)
			}
			if strings.Count(string(printed), "\n") != 1 {
				t.Errorf("not one line:\n%s", printed)
			}
			for _, part := range test.want {
				if !strings.Contains(string(printed), part) {
					t.Errorf("%q does not name %q", printed, part)
				}
			}
		})
	}
}

// closedAddress returns an address on which nothing listens.
func closedAddress(t *testing.T) string {
	t.Helper()
	free, err := port.Free()
	if err != nil {
		t.Fatal(err)
	}
	return port.Address(free)
}

// TestCredentials sends requests without a valid credential: only health endpoints may answer.
func TestCredentials(t *testing.T) {
	t.Parallel()
	server := run(t)
	config := adminConfig(t, server)
	anonymous, err := rest.HTTPClientFor(rest.AnonymousClientConfig(config))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"/healthz": http.StatusOK, "/livez": http.StatusOK, "/readyz": http.StatusOK,
		"/": http.StatusUnauthorized, "/version": http.StatusUnauthorized, "/apis": http.StatusUnauthorized,
		"/metrics": http.StatusUnauthorized,
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": http.StatusUnauthorized,
		"/openapi/v2": http.StatusUnauthorized, "/nothing": http.StatusUnauthorized,
	} {
		if got := statusOf(t, anonymous, server.URL+path); got != want {
			t.Errorf("GET %s without a credential: %d, not %d", path, got, want)
		}
	}
	stranger := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool(t, config.CAData,
		config.CAFile)}}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/apis", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer guess")
	response, err := stranger.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("a made-up token: %d", response.StatusCode)
	}
}

func statusOf(t *testing.T, client *http.Client, url string) int {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

func pool(t *testing.T, data []byte, file string) *x509.CertPool {
	t.Helper()
	if len(data) == 0 {
		var err error
		if data, err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		t.Fatal("no certificate authority in the kubeconfig")
	}
	return pool
}

// TestCRDsFlag starts the server twice with the flag --crds. The second start must not change the CRDs.
func TestCRDsFlag(t *testing.T) {
	t.Parallel()
	options := process.Options{DataDir: filepath.Join(t.TempDir(), "data"), Args: []string{"--crds", samplesDir}}
	var revisions [2]string
	for i := range revisions {
		server := start(t, options)
		client := dynamicClient(t, server)
		for _, resource := range resources {
			if _, err := client.Resource(resource).List(t.Context(), metav1.ListOptions{}); err != nil {
				t.Errorf("start %d: list %s: %v", i, resource.Resource, err)
			}
		}
		definition, err := client.Resource(crdResource).Get(t.Context(), "crontabs.stable.example.com",
			metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		revisions[i] = definition.GetResourceVersion()
		if err := server.Stop(); err != nil {
			t.Errorf("the server did not stop cleanly: %v", err)
		}
	}
	if revisions[0] != revisions[1] {
		t.Errorf("the second start has changed the definition: %v", revisions)
	}
}

// TestReadyLine checks that the server prints one line when it is ready.
func TestReadyLine(t *testing.T) {
	t.Parallel()
	server := run(t)
	for _, part := range []string{server.URL, "; data in " + server.DataDir + ";",
		"export KUBECONFIG=" + server.Kubeconfig} {
		if !strings.Contains(server.ReadyLine(), part) {
			t.Errorf("%q does not say %q", server.ReadyLine(), part)
		}
	}
	if strings.Count(server.Output(), "\n") != 1 {
		t.Errorf("more than the ready line was printed:\n%s", server.Output())
	}
}

// TestOtherDataDir starts servers while KUBECONFIG names the kubeconfig of another one. Only a server with a new data
// directory warns.
func TestOtherDataDir(t *testing.T) {
	t.Parallel()
	first := run(t)
	options := process.Options{DataDir: filepath.Join(t.TempDir(), "data"),
		Env: []string{"KUBECONFIG=" + first.Kubeconfig}}
	for n, warns := range []bool{true, false} {
		server := start(t, options)
		if err := server.Stop(); err != nil {
			t.Errorf("start %d: the server did not stop cleanly: %v", n, err)
		}
		if got := strings.Contains(server.Output(), `other="`+first.DataDir+`"`); got != warns {
			t.Errorf("start %d: warned: %v\n%s", n, got, server.Output())
		}
	}
}
