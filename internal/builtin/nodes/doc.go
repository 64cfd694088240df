// Package nodes has the rules of Nodes.
package nodes
