// Package admission lets webhooks and policies admit objects before they are stored: MutatingAdmissionPolicy,
// mutating webhooks, ValidatingAdmissionPolicy and validating webhooks, with the plugins of k8s.io/apiserver in
// kube-apiserver's order. Plugins for single built-in kinds are packages below plugins.
//
// Webhooks and policies are objects of this server. With a host cluster, its webhooks, policies and namespaces are used
// instead (NamespaceLifecycle). They may also come from files: the configuration of the plugins names directories of
// manifests, which cannot have policy parameters. A server of custom resources alone has no others, and every namespace
// exists there (emptycluster.go).
//
// Begin with New.
package admission
