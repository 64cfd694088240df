package storage

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	spec            = []string{"spec"}
	status          = []string{"status"}
	metadataAndSpec = []string{"metadata", "spec"}
)

// column returns a printed column of the type string.
func column(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "string", Description: description}
}

// unset is the cell of a value that is not there.
const unset = "<unset>"
