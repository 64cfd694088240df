// Package namespaces is the life of namespaces: objects are only created in those that exist and are not being deleted
// (lifecycle.go), and the content of those that are being deleted goes.
package namespaces
