// Package server is the composition root: it turns Options into a running crd-server and stops it again.
//
// Begin with Run (run.go), which names the phases of start and stop in order. assemble makes the parts of a server in
// the order in which they depend on each other: the storage (storage.go), access (access.go), the handlers and the
// controllers (compose.go, which calls controllers.go), and the routes (router.go). No field of them is set later. The
// server asks itself through one client, which is made before access. Its requests wait until the server is able to
// answer (inprocess.go). The rest of this package is:
//
//   - options.go, flags.go and validate.go: Options, their flags and their mistakes;
//   - process.go: what the command sets for the whole process, such as feature gates, logs and GC;
//   - health.go and version.go: what is served beside resources; http.go: the listener and the HTTP server;
//   - manifests.go and install.go: the CRDs of --crds;
//   - extensions.go: the parts of a program that embeds the server;
//   - aggregator.go: registration with kube-aggregator.
//
// The packages below it are: builtins (what built-in resources need of the rest), datadir (the directory on disk),
// certs (certificates and the admin kubeconfig), credentials (users that are added and removed), etcd (embedded or
// external), filters (the chain around all handlers) and metrics.
package server
