// Package admission lets webhooks and policies admit objects before they are stored: MutatingAdmissionPolicy,
// mutating webhooks, ValidatingAdmissionPolicy and validating webhooks, with the plugins of k8s.io/apiserver in
// kube-apiserver's order. All of it is off unless a flag enables it.
//
// With a host cluster, its webhooks, policies and namespaces are used (NamespaceLifecycle). Without one, the
// configuration comes from files: the configuration of the plugins names directories of manifests, which cannot have
// policy parameters. Then every namespace exists (emptycluster.go).
//
// Begin with New.
package admission
