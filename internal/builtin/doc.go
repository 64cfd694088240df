// Package builtin has the resources that ship with the server, and how they are stored.
//
// Begin at table.go: one row says what a resource is. Its fields are explained in package resource. Rules of single
// resources are in the packages of their groups. set.go makes serializers of the rows, codec.go translates between
// objects and stored bytes, and runtimeconfig.go says which rows a server has. Package crdhandler serves the rows as it
// serves custom resources.
package builtin
