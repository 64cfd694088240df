// Package etcdtest is the etcd of tests: a real one, in the test's process, that forgets everything when it is stopped.
//
// Begin with New, an etcd of a test's own. Where the tests of a package do not disturb each other, they share the one
// of Main, and each has a Prefix of it. What a test runs on an etcd it starts with Run.
//
// Only tests import this package.
package etcdtest
