package server

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/allocator"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// newAllocators returns the allocators of the resources that are served. The options are valid.
func newAllocators(o *ResourceOptions, s *stored) map[schema.GroupResource]resource.Allocator {
	ranges, err := allocator.ParseRanges(o.ServiceClusterIPRange)
	if err != nil {
		return nil
	}
	return allocator.New(allocator.Config{
		Store: s.store, Set: s.builtins, Ranges: ranges, NodePorts: o.ServiceNodePortRange,
	})
}
