// Package manifests reads objects from YAML and JSON files, with their positions.
//
// Files finds the files, and Read the objects in one.
package manifests
