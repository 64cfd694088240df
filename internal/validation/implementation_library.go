//go:build library

package validation

// With the build tag library, the package only calls Kubernetes' libraries: to compare with them, and to find out whether a fast
// path is to blame.

func newObjectSchema(library librarySchema) objectSchema { return &library }

func readMetadata(obj map[string]any, o CoerceOptions) (metadata, []string, error) {
	return readMetadataWithLibrary(obj, o)
}
