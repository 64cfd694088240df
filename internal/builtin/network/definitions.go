package network

import (
	"fmt"
	"strings"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Definitions returns the resources of the package.
func Definitions() []*resource.Definition {
	return []*resource.Definition{
		endpointsDefinition(), serviceDefinition(), endpointSliceDefinition(),
		ingressClassDefinition(), ingressDefinition(), ipAddressDefinition(), networkPolicyDefinition(),
		serviceCIDRDefinition(),
	}
}

// none is the cell of a value that is not there.
const none = "<none>"

// maxListed is how many values a cell lists.
const maxListed = 3

// listWithMore joins the first values of a cell, and says how many there are besides.
func listWithMore(values []string) string {
	if len(values) <= maxListed {
		return strings.Join(values, ",")
	}
	return andMore(values[:maxListed], len(values)-maxListed)
}

func andMore(listed []string, more int) string {
	return fmt.Sprintf("%s + %d more...", strings.Join(listed, ","), more)
}
