// Package node has RuntimeClasses, the ways in which the containers of a Pod are run.
package node
