// Package fault breaks things under load and checks the responses: no acknowledged write is lost, no read returns
// what was not written, no watch misses an event.
//
// Each scenario is a test. Begin with kill_test.go, which kills one server again and again, and linear_test.go, which
// disturbs replicas and their etcd cluster while it records the history of all operations; history_test.go defines
// correct histories.
//
// Clients that overload the server, and the client that measures beside them, are processes (child_test.go). Only the
// full form of TestHostile judges how long something took; for the others the report has the figures.
//
// TestHostile compares the cost of hostile inputs with their budgets (hostile_test.go; package hostile generates them).
//
// Slow disks and clock jumps are in the server itself, which is built with altered code for these scenarios
// (altered_test.go, testdata/altered).
//
// Every scenario but the soak has a short form, which make test runs, and a full form (-full, make fault). Its random
// choices follow from its seed (-seed), which the report names. The report of the last run is build/fault/report.md.
package fault
