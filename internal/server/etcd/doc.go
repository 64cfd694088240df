// Package etcd connects the server to its storage: an etcd that runs in this process (StartEmbedded), one that keeps
// nothing and that the servers of this process share (StartInMemory), or an external cluster (Connect). Measure adds
// kube-apiserver's metrics of requests to etcd.
package etcd
