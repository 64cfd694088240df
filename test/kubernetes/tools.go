//go:build tools

// Package kubernetes pins the programs of Kubernetes that crd-server is compared with. Package programs builds them,
// and only for make differential: a build takes six minutes. Kubernetes needs its staging modules replaced, hence the
// module.
package kubernetes

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
)
