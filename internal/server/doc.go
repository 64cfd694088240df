// Package server is the composition root: it turns Options into a running crd-server and stops it again.
//
// Begin with Run (run.go), which names the phases of start and stop in order. Then read compose.go, which connects
// the parts. The rest of this package is:
//
//   - options.go, flags.go and validate.go: Options, their flags and their mistakes; process.go: feature gates, logs and GC;
//   - access.go: authentication, authorization, admission, audit, encryption and tracing as configured;
//   - router.go, health.go, version.go: what is served beside resources; http.go: the listener and the HTTP server;
//   - manifests.go and install.go: the CRDs of --crds, applied through inprocess.go, the client of the server within the server;
//   - aggregator.go: registration with kube-aggregator.
//
// The packages below it are: datadir (the directory on disk), certs (certificates and the admin kubeconfig), etcd
// (embedded or external), filters (the chain around all handlers) and metrics.
package server
