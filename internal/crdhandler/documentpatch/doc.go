// Package documentpatch applies JSON patches and merge patches to JSON documents, within bounds. It knows nothing of
// objects.
//
// Begin at patch.go. The patches themselves are applied by the library, github.com/evanphx/json-patch.
package documentpatch
