// Package managedfields keeps metadata.managedFields up to date: which manager owns which fields of an object.
//
// There are two implementations of Manager. The library manager (library.go) only calls
// k8s.io/apimachinery/pkg/util/managedfields and can handle every write. The fast manager (fast.go) handles the writes
// that clients send most: an object is created, values change, fields are added or removed, a configuration is applied
// again. It produces exactly the library's result, with one walk over both objects, and calls the library manager for
// every other write. Building with the tag "library" leaves only the library manager in use.
//
// Begin reading in manager.go, then fast.go. The fast manager is built from these parts:
//
//   - walk.go visits a value together with its type and knows the path to it; it matches the items of lists by their
//     keys;
//   - compare.go finds the fields that an update modifies, adds and removes;
//   - merge.go merges an applied configuration into a live object;
//   - typecheck.go checks values against their type;
//   - owners.go and fieldset.go read and write the entries of metadata.managedFields.
package managedfields
