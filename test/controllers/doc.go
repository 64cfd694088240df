// Package crdserver builds the controllers of other projects that docs/run-controllers.md and docs/control-plane.md
// run beside the server: those of cert-manager, and kwok. They have their own versions of Kubernetes' libraries.
//
// The commands of cert-manager are in modules that no proxy serves, because their names are not their paths. So
// controller, webhook and cainjector are commands of this project, which take the flags that the pages use and start
// what cert-manager has in its libraries. They need its internal packages, hence the path of this module. Issuers that
// call other services (ACME, Vault and CyberArk) are left out: their libraries are many.
package crdserver
