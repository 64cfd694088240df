//go:build !library

package validation

func newObjectSchema(library librarySchema) objectSchema { return newFastSchema(library) }

func readMetadata(obj map[string]any, o CoerceOptions) (metadata, []string, error) {
	return readMetadataFast(obj, o)
}
