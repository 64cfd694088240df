// Package hostcluster leads to the Kubernetes cluster that this server belongs to, if there is one: who asks it about users and about what they
// may do does so with the same patience.
package hostcluster

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// ReviewTimeout bounds a question; it is that of upstream's extension API servers, as the limits of a client are.
const (
	ReviewTimeout = 10 * time.Second
	qps           = 200
	burst         = 400
)

// RetryBackoff is how often, and after which waits, a cluster or a webhook in its place is asked again.
func RetryBackoff() wait.Backoff {
	return wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}
}

// NewClient returns a client of the cluster that a kubeconfig file leads to. It sends nothing yet.
func NewClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst, config.Timeout = qps, burst, ReviewTimeout
	return kubernetes.NewForConfig(config)
}
