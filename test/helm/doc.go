// Package helm installs, upgrades, rolls back and uninstalls a chart on crd-server with the libraries of helm 3 and
// helm 4. The chart in testdata has a CRD, custom resources, and built-in resources that need no nodes.
//
// It is a module of its own, so that the dependencies of helm stay apart. They are not newer than those of the module
// test, where both need them, so that Kubernetes' libraries are compiled once for both.
package helm
