// Package process runs the built crd-server the way a user does: as a child
// process with a data directory and a port, and nothing else shared with it.
//
// Begin with Start. Stop sends SIGTERM and waits, Kill is kill -9; starting
// again with the same Options is the restart of one server.
//
// It is a module of its own, with no dependency, so that every test module
// (test/e2e, test/conformance) can use it without sharing a go.mod.
package process
