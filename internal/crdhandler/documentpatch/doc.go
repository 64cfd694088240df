// Package documentpatch applies JSON patches and merge patches to JSON documents, within bounds. It knows nothing of
// objects.
//
// Begin at patch.go; merge.go applies merge patches to decoded documents. The patches themselves are applied by the
// library, github.com/evanphx/json-patch.
package documentpatch
