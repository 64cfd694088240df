//go:build suite

// This file is never compiled. It keeps the imports of upstream's suite in go.mod and go.sum.
package main

import (
	_ "github.com/crd-server/crd-server/test/process"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/stretchr/testify/require"
	_ "gopkg.in/evanphx/json-patch.v4"
	_ "k8s.io/apiextensions-apiserver/test/integration"
	_ "k8s.io/apiextensions-apiserver/test/integration/conversion"
	_ "k8s.io/apiextensions-apiserver/test/integration/fixtures"
	_ "k8s.io/apiextensions-apiserver/test/integration/storage"
	_ "k8s.io/client-go/openapi3"
	_ "k8s.io/client-go/restmapper"
	_ "k8s.io/client-go/scale"
	_ "k8s.io/client-go/tools/clientcmd"
	_ "k8s.io/klog/v2/ktesting"
)
