//go:build library

package managedfields

// fastPaths is off: the library handles every write.
const fastPaths = false
