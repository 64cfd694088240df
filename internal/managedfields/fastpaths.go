//go:build !library

package managedfields

// fastPaths makes New and NewForDefinitions return managers that call the library only for unusual writes.
const fastPaths = true
