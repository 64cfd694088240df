package storage

import (
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the resources of the package.
func Definitions() []*resource.Definition {
	return []*resource.Definition{
		claimDefinition(), volumeDefinition(),
		driverDefinition(), nodeDefinition(), capacityDefinition(), classDefinition(), attachmentDefinition(),
		attributesClassDefinition(),
	}
}

// Top-level fields, for Resets.
var (
	spec   = []string{"spec"}
	status = []string{"status"}
)

// unset is the cell of a value that is not there.
const unset = "<unset>"
