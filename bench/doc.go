// Command bench measures crd-server against upstream's apiextensions-apiserver,
// in one run on one machine, and prints what each of them needed.
//
// Begin with main.go. A part (part_*.go) is a group of rows that can be run
// alone; rows are what the table shows (row.go). Servers are processes of their
// own (server.go); what they need is read from /proc (proc.go), while clients
// in this process keep them busy (client.go, load.go). What they serve is in
// widget.go.
//
// The claims are the ratios: both servers meet the same machine, the same etcd
// and the same clients within minutes of each other. docs/performance.md
// explains the rows and shows the last run.
package main
