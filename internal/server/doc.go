// Package server is the composition root: it turns Options into a running crd-server and stops it again.
//
// Begin with Run (run.go), which names the phases of start and stop in order. Everything else in the package is one noun
// a file:
//
//   - Options, their flags (flags.go) and their mistakes (validate.go);
//   - what is on disk: DataDir, the certificates (pki.go, identity.go), the admin kubeconfig;
//   - storage: etcd in the process (etcd_embedded.go) or an external cluster (etcd_external.go);
//   - HTTP: the filter chain (filters.go), the routes (router.go), who may do what (authentication.go,
//     authorization.go), health, the listener and its TLS (tls.go, http.go);
//   - the parts that serve custom resources, wired in compose.go;
//   - CRDs installed at start: read (manifests.go), then applied through the handler (install.go).
package server
