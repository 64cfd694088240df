// Package clustertrust keeps the ConfigMap kube-system/extension-apiserver-authentication: the authorities of client
// certificates, and the front proxies that may name users. Other API servers of the cluster, and its controllers, find
// there by whom this server recognises its clients (--authentication-kubeconfig).
//
// Begin with Controller. merge.go decides what the ConfigMap has, as kube-apiserver does.
package clustertrust
