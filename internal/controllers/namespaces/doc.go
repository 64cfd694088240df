// Package namespaces is the life of namespaces. lifecycle.go decides in which of them objects are created.
//
// Begin with controller.go: it follows the namespaces that are being deleted. content.go deletes their objects, of the
// resources that resources.go lists, through a client of this server (client.go). conditions.go says what is left.
// system.go creates the namespaces that every server has.
//
// Goroutines: the caller of Controller.Run waits for those that Run starts. They end with its context.
package namespaces
