package authentication

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	webhooktoken "k8s.io/apiserver/plugin/pkg/authenticator/token/webhook"
	"k8s.io/client-go/kubernetes"

	"github.com/crd-server/crd-server/internal/access/hostcluster"
)

// The ConfigMap with a cluster's authorities and front proxies for extension API servers, and its keys.
const (
	configMapNamespace = "kube-system"
	configMapName      = "extension-apiserver-authentication"

	keyClientCA    = "client-ca-file"
	keyProxyCA     = "requestheader-client-ca-file"
	keyUsernames   = "requestheader-username-headers"
	keyUIDs        = "requestheader-uid-headers"
	keyGroups      = "requestheader-group-headers"
	keyExtraPrefix = "requestheader-extra-headers-prefix"
	keyNames       = "requestheader-allowed-names"
)

// client returns a client of the host cluster; nil without one.
func (o *DelegatedOptions) client() (kubernetes.Interface, error) {
	if o.Kubeconfig == "" {
		return nil, nil
	}
	client, err := hostcluster.NewClient(o.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--authentication-kubeconfig %s: %w", o.Kubeconfig, err)
	}
	return client, nil
}

// lookup has the content of the ConfigMap of a host cluster, and follows its changes.
type lookup struct {
	client            kubernetes.Interface
	clientCA, proxyCA *foundCA
	headers           *headerrequest.RequestHeaderAuthRequestController
}

func newLookup(client kubernetes.Interface) (*lookup, error) {
	clientCA, err := newFoundCA("client-ca", keyClientCA, client)
	if err != nil {
		return nil, err
	}
	proxyCA, err := newFoundCA("request-header", keyProxyCA, client)
	if err != nil {
		return nil, err
	}
	headers := headerrequest.NewRequestHeaderAuthRequestController(configMapName, configMapNamespace, client,
		keyUsernames, keyUIDs, keyGroups, keyExtraPrefix, keyNames)
	return &lookup{client: client, clientCA: clientCA, proxyCA: proxyCA, headers: headers}, nil
}

// read reads the ConfigMap once. Its content is in force when read returns.
func (l *lookup) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, hostcluster.ReviewTimeout)
	defer cancel()
	found, err := l.client.CoreV1().ConfigMaps(configMapNamespace).Get(ctx, configMapName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) { // it may be created later
		return nil
	}
	if err == nil {
		err = errors.Join(l.clientCA.begin(found), l.proxyCA.begin(found), l.headers.RunOnce(ctx))
	}
	if err != nil {
		return fmt.Errorf("ConfigMap %s/%s of the host cluster cannot be read (see "+
			"--authentication-tolerate-lookup-failure): %w",
			configMapNamespace, configMapName, err)
	}
	return nil
}

// requestHeaders returns the configuration of front proxies in the ConfigMap.
func (l *lookup) requestHeaders() *authenticatorfactory.RequestHeaderConfig {
	return &authenticatorfactory.RequestHeaderConfig{
		UsernameHeaders:     headerrequest.StringSliceProviderFunc(l.headers.UsernameHeaders),
		UIDHeaders:          headerrequest.StringSliceProviderFunc(l.headers.UIDHeaders),
		GroupHeaders:        headerrequest.StringSliceProviderFunc(l.headers.GroupHeaders),
		ExtraHeaderPrefixes: headerrequest.StringSliceProviderFunc(l.headers.ExtraHeaderPrefixes),
		AllowedClientNames:  headerrequest.StringSliceProviderFunc(l.headers.AllowedClientNames),
		CAContentProvider:   l.proxyCA,
	}
}

// tokenReviews returns an authenticator that lets the host cluster review tokens.
func tokenReviews(client kubernetes.Interface, audiences authenticator.Audiences) (authenticator.Token, error) {
	authenticatorfactory.RegisterMetrics()
	return webhooktoken.NewFromInterface(client.AuthenticationV1(), audiences, hostcluster.RetryBackoff(),
		hostcluster.ReviewTimeout, webhooktoken.AuthenticatorMetrics{
			RecordRequestTotal:   authenticatorfactory.RecordRequestTotal,
			RecordRequestLatency: authenticatorfactory.RecordRequestLatency,
		})
}
