// Package kubeapiserver lets crd-server be started as kube-apiserver: with its flags, its defaults and its certificate
// directory. Tests of controllers do that, by controller-runtime's envtest.
//
// Begin at Options in options.go. The flags, plugins and feature gates that kube-apiserver has are tables: flags.go,
// plugins.go and features.go. A test compares them with the help of kube-apiserver.
package kubeapiserver
