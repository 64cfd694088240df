// Package admission asks webhooks and policies before objects are stored: MutatingAdmissionPolicy, mutating webhooks,
// ValidatingAdmissionPolicy and validating webhooks, with the plugins of k8s.io/apiserver in kube-apiserver's order. Nothing
// is asked unless a flag says so.
//
// With a host cluster, what is configured there counts, and namespaces are those of that cluster (NamespaceLifecycle). Without
// one, the configuration comes from files: the plugins' own configuration names directories of manifests, which
// take no policy parameters; there every namespace exists (emptycluster.go).
//
// Begin with New.
package admission
