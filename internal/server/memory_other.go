//go:build !linux

package server

// releaseProgram is not known to help elsewhere.
func releaseProgram() error { return nil }

// minorFaults are not asked for elsewhere.
func minorFaults() int64 { return 0 }

// memory is not asked for elsewhere.
func memory() uint64 { return 0 }
