// Package hostcluster makes clients of the Kubernetes cluster that this server belongs to, if there is one.
// Authentication and authorization use the same timeouts and retries. Begin at client.go.
package hostcluster

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// ReviewTimeout bounds one review. The values are those of upstream's extension API servers.
const (
	ReviewTimeout = 10 * time.Second
	qps           = 200
	burst         = 400
)

// RetryBackoff returns the delays between retries of a review, of the cluster or of a webhook.
func RetryBackoff() wait.Backoff {
	return wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}
}

// NewClient returns a client of the cluster that a kubeconfig file names. It sends nothing yet.
func NewClient(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst, config.Timeout = qps, burst, ReviewTimeout
	return kubernetes.NewForConfig(config)
}
