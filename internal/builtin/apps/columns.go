package apps

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// columnsWith returns the columns of a workload: the name, its own, the age, the containers, and last.
func columnsWith(
	own []metav1.TableColumnDefinition, last ...metav1.TableColumnDefinition,
) []metav1.TableColumnDefinition {
	name, age := []metav1.TableColumnDefinition{resource.NameColumn}, []metav1.TableColumnDefinition{resource.AgeColumn}
	return slices.Concat(name, own, age, podspec.ContainerColumns(1), last)
}

func selectorColumn(description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: "Selector", Type: "string", Priority: 1, Description: description}
}
