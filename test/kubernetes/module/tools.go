//go:build tools

// Package module pins the programs of Kubernetes that crd-server is compared with, or that run beside it, and
// Kubernetes' tests. Package programs builds the programs, and only for make differential and make test-controllers: a
// build takes six minutes. The command in the folder above builds the tests. Kubernetes needs its staging modules
// replaced, hence the module.
package module

import (
	// The tests need these.
	_ "k8s.io/kubectl/pkg/cmd/portforward"
	_ "k8s.io/kubectl/pkg/cmd/util"
	_ "k8s.io/kubectl/pkg/proxy"
	_ "k8s.io/kubectl/pkg/scale"
	_ "k8s.io/kubernetes/test/integration/framework"
	_ "k8s.io/kubernetes/test/utils"

	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
)
