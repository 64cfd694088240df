// Package kubeapiserver lets crd-server be started as kube-apiserver: with its flags, its defaults and its certificate
// directory. Tests of controllers do that, by controller-runtime's envtest.
//
// Begin at Options in options.go. kube-apiserver.yaml has tables of the flags, plugins and feature gates of
// kube-apiserver. A test compares them with its help.
package kubeapiserver
