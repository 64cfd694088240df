// Package server is the composition root: it turns Options into a running crd-server and stops it again.
//
// Begin with Run (run.go), which names the phases of start and stop in order. Then read compose.go, which connects
// the parts. The rest of this package is:
//
//   - options.go, flags.go and validate.go: Options, their flags and their mistakes;
//   - process.go: what the command sets for the whole process, such as feature gates, logs and GC;
//   - access.go: authentication, authorization, admission, audit, encryption and tracing as configured;
//   - router.go, health.go, version.go: what is served beside resources; http.go: the listener and the HTTP server;
//   - bootstrap.go: the built-in objects that every server has; controllers.go: which controllers run;
//   - namespaces.go, rbac.go, serviceaccounts.go, collector.go, allocators.go, plugins.go, workloads.go: what built-in
//     resources need besides their definitions;
//   - manifests.go and install.go: the CRDs of --crds, applied through inprocess.go, the client of the server within
//     the server;
//   - extensions.go: the parts of a program that embeds the server;
//   - aggregator.go: registration with kube-aggregator.
//
// The packages below it are: datadir (the directory on disk), certs (certificates and the admin kubeconfig),
// credentials (users that are added and removed), etcd (embedded or external), filters (the chain around all handlers)
// and metrics.
package server
