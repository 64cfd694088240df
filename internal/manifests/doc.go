// Package manifests reads objects from YAML and JSON files, with their positions.
//
// Files and Tree find the files, Open reads the documents of one, and Document.Objects returns what is in a document.
package manifests
