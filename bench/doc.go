// Command bench measures crd-server and upstream's apiextensions-apiserver in one run on one machine, and prints what
// each of them needed.
//
// Begin with main.go. A part (part_*.go) is a group of rows that can be run alone; rows form the printed table
// (row.go). Servers are processes (server.go). Their CPU and memory are read from /proc (proc.go) while clients in
// this process put load on them (client.go, load.go). widget.go has the resource, builtin.go the built-in kinds that
// are compared with kube-apiserver.
//
// The ratios are what counts: both servers run on the same machine with the same etcd and the same clients within
// minutes of each other. docs/performance.md explains the rows and has the last run.
package main
