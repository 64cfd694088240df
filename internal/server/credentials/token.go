package credentials

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Program is a service account that gets a token.
type Program struct {
	Name, Namespace string
	// Lifetime is how long the token should be valid. The server may decide otherwise.
	Lifetime time.Duration
	// Server is the address of the server for this program; empty means that in the admin kubeconfig.
	Server string
}

// Token creates the service account if it is missing, and returns a kubeconfig with a token of it. The token is valid
// until it expires or the service account is deleted.
func (m *Manager) Token(ctx context.Context, p *Program) (kubeconfig []byte, expires time.Time, err error) {
	if err := validateLifetime(p.Lifetime); err != nil {
		return nil, expires, err
	}
	accounts := m.client.CoreV1().ServiceAccounts(p.Namespace)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace}}
	if _, err := accounts.Create(ctx, account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, expires, fmt.Errorf("create service account %s/%s: %w", p.Namespace, p.Name, err)
	}
	seconds := int64(p.Lifetime.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	answer, err := accounts.CreateToken(ctx, p.Name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, expires, fmt.Errorf("request a token of service account %s/%s: %w", p.Namespace, p.Name, err)
	}
	login := &clientcmdapi.Context{
		AuthInfo: serviceaccount.MakeUsername(p.Namespace, p.Name), Namespace: p.Namespace,
	}
	kubeconfig, err = m.kubeconfig(login, p.Server, &clientcmdapi.AuthInfo{Token: answer.Status.Token})
	return kubeconfig, answer.Status.ExpirationTimestamp.Time, err
}
