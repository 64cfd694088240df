package hostcluster

import (
	"errors"
	"fmt"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	admissionregistrationv1 "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	authenticationv1 "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationv1 "k8s.io/client-go/kubernetes/typed/authorization/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// clientset is a kubernetes.Interface for the group versions that this server and the admission plugins call. The
// embedded interface is nil, so a call of any other group version panics. The clientset of client-go has the
// clients of all groups, and the linker keeps them. See docs/upstream.md, "Dead code elimination".
type clientset struct {
	kubernetes.Interface
	discovery             *discovery.DiscoveryClient
	admissionregistration *admissionregistrationv1.AdmissionregistrationV1Client
	authentication        *authenticationv1.AuthenticationV1Client
	authorization         *authorizationv1.AuthorizationV1Client
	core                  *corev1.CoreV1Client
}

// NewClientset returns a client of the discovery, core/v1, admissionregistration/v1, authentication/v1 and
// authorization/v1 of a cluster. client-go gives all of them one transport.
func NewClientset(config *rest.Config) (kubernetes.Interface, error) {
	shared := rest.CopyConfig(config)
	if shared.UserAgent == "" {
		shared.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	c := &clientset{}
	var errs [5]error
	c.discovery, errs[0] = discovery.NewDiscoveryClientForConfig(shared)
	c.admissionregistration, errs[1] = admissionregistrationv1.NewForConfig(shared)
	c.authentication, errs[2] = authenticationv1.NewForConfig(shared)
	c.authorization, errs[3] = authorizationv1.NewForConfig(shared)
	c.core, errs[4] = corev1.NewForConfig(shared)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("client of the host cluster: %w", err)
	}
	return c, nil
}

// Discovery implements kubernetes.Interface.
func (c *clientset) Discovery() discovery.DiscoveryInterfaces { return c.discovery }

// AdmissionregistrationV1 implements kubernetes.Interface.
func (c *clientset) AdmissionregistrationV1() admissionregistrationv1.AdmissionregistrationV1Interface {
	return c.admissionregistration
}

// AuthenticationV1 implements kubernetes.Interface.
func (c *clientset) AuthenticationV1() authenticationv1.AuthenticationV1Interface {
	return c.authentication
}

// AuthorizationV1 implements kubernetes.Interface.
func (c *clientset) AuthorizationV1() authorizationv1.AuthorizationV1Interface {
	return c.authorization
}

// CoreV1 implements kubernetes.Interface.
func (c *clientset) CoreV1() corev1.CoreV1Interface { return c.core }
