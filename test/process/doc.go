// Package process runs the built crd-server as a user does: as a process with a data directory and a port.
//
// Begin with Start. Stop sends SIGTERM and waits, Kill sends SIGKILL; starting again with the same Options restarts a
// server.
//
// The package imports only the standard library, so that bench and the copy of upstream's suite (test/conformance) can
// use it.
package process
