// Package storagesuite runs upstream's tests of its storage.Interface (k8s.io/apiserver/pkg/storage/testing) on
// dynamicstorage, against a real etcd. It has nothing but tests.
//
// Begin with suite_test.go, which has the functions that are run. Each runs several times (modes_test.go): with the
// resource in memory, with a resource that is cold whenever it is asked, so that reads load it or go to etcd, and
// behind a feed that is late.
//
// adapter_test.go, list_test.go and watch_test.go translate between the two interfaces. They know objects,
// resourceVersions, selectors and tokens, as crdhandler does; what is consistent, exact, complete, conflicting or
// compacted is dynamicstorage's.
//
// What of upstream's package cannot apply is in notApplicable (complete_test.go), each function with the reason.
package storagesuite
