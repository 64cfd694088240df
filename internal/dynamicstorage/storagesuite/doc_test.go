// Package storagesuite runs upstream's tests of its storage.Interface (k8s.io/apiserver/pkg/storage/testing) on
// dynamicstorage, against a real etcd. It has only tests.
//
// Begin with suite_test.go, which lists the functions. Each runs several times (modes_test.go): with the resource in
// memory, with a resource that is cold before each use, so that reads load it or go to etcd, and behind a feed that is
// late.
//
// adapter_test.go, list_test.go and watch_test.go translate between the two interfaces. They implement objects,
// resourceVersions, selectors and tokens, as crdhandler does. Consistency, exact revisions, complete watches,
// conflicts and compaction are tested in dynamicstorage.
//
// notApplicable (complete_test.go) lists the functions that do not apply, with the reasons.
package storagesuite
