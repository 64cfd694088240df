// Package etcdtest runs etcd for tests: a real one, in the process of the test, whose data is removed afterwards.
//
// Begin with Main: the tests of a package share one etcd, and each has a Prefix in it. New starts an etcd for a test
// that disturbs others. Run runs a component on an etcd for the duration of a test.
//
// Only tests import this package.
package etcdtest
