package credentials

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/crd-server/crd-server/internal/server/certs"
)

// Manager adds and removes users of a running server.
type Manager struct {
	dataDir string
	// cluster is the server as kubeconfigs name it, and config how the admin connects to it.
	cluster *clientcmdapi.Cluster
	config  *rest.Config
	client  kubernetes.Interface
	now     func() time.Time
}

// requestTimeout bounds each request to the server.
const requestTimeout = 30 * time.Second

// Open returns the manager of the server whose data directory this is. Only who can read the directory can use it.
func Open(dataDir string) (*Manager, error) {
	file := filepath.Join(dataDir, certs.KubeconfigFile)
	admin, err := clientcmd.LoadFromFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("data dir %s has no %s: run this where the server runs, with its --data-dir",
			dataDir, certs.KubeconfigFile)
	}
	if err != nil {
		return nil, fmt.Errorf("admin kubeconfig is unreadable: %w", err)
	}
	config, err := clientcmd.NewDefaultClientConfig(*admin, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("admin kubeconfig %s: %w", file, err)
	}
	config.Timeout, config.UserAgent = requestTimeout, "crd-server user"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("admin kubeconfig %s: %w", file, err)
	}
	cluster := admin.Clusters[admin.Contexts[admin.CurrentContext].Cluster]
	return &Manager{dataDir: dataDir, cluster: cluster, config: config, client: client, now: time.Now}, nil
}

// time returns the present time as records have it, in whole seconds.
func (m *Manager) time() metav1.Time { return metav1.NewTime(m.now()).Rfc3339Copy() }
