package clusterapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/crd-server/crd-server/test/port"
	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
)

// ports are where the manager listens.
type ports struct{ webhooks, health int }

// freePorts chooses ports. The manager cannot say which ones it takes itself.
func freePorts(t *testing.T) ports {
	t.Helper()
	var free [2]int
	for i := range free {
		var err error
		if free[i], err = port.Free(); err != nil {
			t.Fatal(err)
		}
	}
	return ports{webhooks: free[0], health: free[1]}
}

// manager is Cluster API's manager, with all controllers and webhooks, as the service account of its manifests.
type manager struct {
	*testing.T
	path    string
	args    []string
	health  string
	command *exec.Cmd
	output  *bytes.Buffer // read only after the process has ended
}

// startManager starts the manager with the certificate in a folder, and waits until it serves webhooks.
func startManager(t *testing.T, admin *rest.Config, ports ports, certificates string) *manager {
	t.Helper()
	path, err := programs.ClusterAPI()
	if err != nil {
		t.Fatal(err)
	}
	health := fmt.Sprintf("127.0.0.1:%d", ports.health)
	m := &manager{T: t, path: path, health: "http://" + health + "/readyz", args: []string{
		"--kubeconfig", accountKubeconfig(t, admin),
		"--webhook-port", fmt.Sprint(ports.webhooks),
		"--webhook-cert-dir", certificates,
		"--health-addr", health,
		"--diagnostics-address", "0",
		"--v", "0",
	}}
	m.start()
	t.Cleanup(func() {
		m.stop()
		if t.Failed() {
			output := m.output.Bytes()
			t.Logf("the end of the manager's output:\n%s", output[max(0, len(output)-20<<10):])
		}
	})
	return m
}

func (m *manager) start() {
	m.Helper()
	m.output = new(bytes.Buffer)
	m.command = exec.Command(m.path, m.args...)
	m.command.Stdout, m.command.Stderr = m.output, m.output
	m.command.SysProcAttr = process.EndWithParent()
	if err := m.command.Start(); err != nil {
		m.Fatal(err)
	}
	eventually(m.T, "start the manager", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.health, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	})
}

func (m *manager) stop() {
	m.Helper()
	if err := m.command.Process.Signal(syscall.SIGTERM); err != nil {
		m.Errorf("stop the manager: %v", err)
	}
	defer time.AfterFunc(patience, func() { m.command.Process.Kill() }).Stop()
	if err := m.command.Wait(); err != nil {
		m.Errorf("the manager ended with %v", err)
	}
}

func (m *manager) restart() {
	m.Helper()
	m.stop()
	m.start()
}

// accountKubeconfig writes the kubeconfig of the manager's service account and returns its path.
func accountKubeconfig(t *testing.T, admin *rest.Config) string {
	t.Helper()
	token, err := kubernetes.NewForConfigOrDie(admin).CoreV1().ServiceAccounts(namespace).
		CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "manager.kubeconfig")
	const name = "manager"
	config := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: admin.Host, CertificateAuthorityData: admin.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {Token: token.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}
	if admin.CAFile != "" {
		if config.Clusters[name].CertificateAuthorityData, err = os.ReadFile(admin.CAFile); err != nil {
			t.Fatal(err)
		}
	}
	if err := clientcmd.WriteToFile(config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
