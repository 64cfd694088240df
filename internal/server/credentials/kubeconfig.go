package credentials

import (
	"fmt"
	"os"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/crd-server/crd-server/internal/server/certs"
	"github.com/crd-server/crd-server/internal/server/datadir"
)

// kubeconfig returns a kubeconfig with the credential of a user and the authority of the server. login names the user
// and perhaps a namespace. server is the address for this user; empty means that in the admin kubeconfig.
func (m *Manager) kubeconfig(
	login *clientcmdapi.Context, server string, credential *clientcmdapi.AuthInfo,
) ([]byte, error) {
	cluster := m.cluster.DeepCopy()
	if server != "" {
		cluster.Server = server
	}
	login.Cluster = "crd-server"
	return certs.Kubeconfig(login.AuthInfo+"@"+login.Cluster, login, cluster, credential)
}

// File is a file for a kubeconfig.
type File struct {
	Path string
	// Force replaces a file that exists.
	Force bool
}

// Check returns an error if the file exists and must not be replaced.
func (f File) Check() error {
	if _, err := os.Lstat(f.Path); err == nil && !f.Force {
		return fmt.Errorf("%s exists already: --force replaces it, --kubeconfig names another file", f.Path)
	}
	return nil
}

// Write writes the file as a whole. Only the owner can read it.
func (f File) Write(content []byte) error {
	place := os.Link // fails if the file exists
	if f.Force {
		place = os.Rename
	}
	if err := datadir.WriteFile(f.Path, content, false, place); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}
