// Package crdserver runs crd-server in a program: a server of the Kubernetes API for custom resources and for built-in
// resources such as namespaces, Secrets and roles. It needs no other process and no Kubernetes.
//
//	server := crdserver.New(crdserver.Options{CRDPaths: []string{"config/crd"}})
//	go server.Run(ctx)
//	<-server.Ready()
//	client, err := dynamic.NewForConfig(server.Config())
//
// Begin with Options: its zero value is a server of its own that keeps everything in memory and listens on a free port
// of this host. For tests, see package crdservertest.
//
// # Memory
//
// A server without a DataDir keeps its objects in an etcd that all such servers of the process share. The first of them
// starts it, and the last stops it. Each server has keys of its own there, which are deleted when it ends. The servers
// see nothing of each other except that resource versions are numbers of the shared etcd, so they grow while other
// servers write. The files of the etcd are in a temporary directory and are never synced.
//
// An etcd for each server was measured too. It would cost each start 34 ms on average (the election of a member that is
// alone), each idle server 2 ms of CPU a second, and each server log files that etcd allocates in advance, 64 MB each.
//
// # The process
//
// Several servers can run in one process. They share what belongs to the process: the metrics of Kubernetes' libraries,
// feature gates, and the logger of klog, which a few libraries use although Options has a Logger. The import changes
// nothing of other packages. A server registers metrics of Kubernetes' libraries and changes nothing else. It handles
// no signals, and does not read the environment. Users who may PUT /debug/flags/v set the verbosity of klog.
//
// # Versions
//
// This package and crdservertest follow semantic versioning with the version of the module: until v1, a minor version
// may change them, and CHANGELOG.md says how; a patch version does not. A test compares what they export with a list,
// so changes are deliberate. Types of other modules in their signatures (k8s.io/api, apimachinery, apiserver,
// client-go, go-logr) are those of the versions in go.mod. Packages in internal are of no concern to users.
package crdserver
