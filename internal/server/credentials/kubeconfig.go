package credentials

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Login is a kubeconfig to be: a user of the server with a credential.
type Login struct {
	User string
	// Namespace is the namespace of the context; it may be empty.
	Namespace string
	// Server is the address of the server for this user; empty means that in the admin kubeconfig.
	Server     string
	credential *clientcmdapi.AuthInfo
}

// kubeconfig returns the kubeconfig of a user. It contains the credential and the authority of the server.
func (m *Manager) kubeconfig(login *Login) ([]byte, error) {
	const cluster = "crd-server"
	server := m.cluster.DeepCopy()
	if login.Server != "" {
		server.Server = login.Server
	}
	context := login.User + "@" + cluster
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:  map[string]*clientcmdapi.Cluster{cluster: server},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{login.User: login.credential},
		Contexts: map[string]*clientcmdapi.Context{
			context: {Cluster: cluster, AuthInfo: login.User, Namespace: login.Namespace},
		},
		CurrentContext: context,
	})
	if err != nil {
		return nil, fmt.Errorf("encode the kubeconfig of %q: %w", login.User, err)
	}
	return content, nil
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
	temporary, err := os.CreateTemp(filepath.Dir(f.Path), "."+filepath.Base(f.Path)+"-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	defer os.Remove(temporary.Name()) // fails after the rename
	_, err = temporary.Write(content)
	if err = errors.Join(err, temporary.Close()); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	if f.Force {
		err = os.Rename(temporary.Name(), f.Path)
	} else {
		err = os.Link(temporary.Name(), f.Path) // fails if the file exists
	}
	if err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}
