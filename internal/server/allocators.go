package server

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/allocator"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// newAllocators returns the allocators of the resources that are served.
func newAllocators(o *ValidOptions, s *stored) map[schema.GroupResource]resource.Allocator {
	return allocator.New(allocator.Config{
		Store: s.store, Set: s.builtins, Ranges: o.serviceRanges, NodePorts: o.Resources.ServiceNodePortRange,
	})
}
