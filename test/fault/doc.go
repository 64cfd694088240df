// Package fault breaks things under load and checks what clients were told:
// nothing acknowledged is lost, nothing is read that was not written, no watch
// leaves anything out.
//
// A scenario is a test. Begin with kill_test.go, one server that is killed
// again and again, and linear_test.go, replicas on a cluster of etcd that is
// disturbed while the history of all operations is recorded; history_test.go
// says what such a history must be like.
//
// Clients that ask for more than there is, and the one that measures beside them,
// are processes of their own (child_test.go). No scenario judges how long something
// took; the report says it.
//
// Disks that are slow and clocks that jump are in the server itself, which is built
// altered for these scenarios (altered_test.go, testdata/altered).
//
// Every scenario has a short form, which runs with all other tests, and a full one
// (-full, make fault). What it does follows from its seed (-seed), which the report
// names; the report of the last run is build/fault/report.md.
package fault
