// Package etcd connects the server to its storage: an etcd that runs in this process (StartEmbedded), or an external
// cluster (Connect). Measure adds kube-apiserver's metrics of requests to etcd.
package etcd
