//go:build tools

// Package kubernetes pins the programs of Kubernetes that crd-server is compared with, or that run beside it. Package
// programs builds them, and only for make differential and make test-controllers: a build takes six minutes. Kubernetes
// needs its staging modules replaced, hence the module.
package kubernetes

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
)
