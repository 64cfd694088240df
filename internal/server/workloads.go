package server

import (
	"maps"

	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/bootstrap"
	"github.com/crd-server/crd-server/internal/builtin/pods"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/scheduling"
	"github.com/crd-server/crd-server/internal/eviction"
)

// addPodActions adds the functions of the subresources of pods, if pods are served. own is for requests to this server.
func addPodActions(
	actions map[string]resource.ActionFunc, s *stored, own *rest.Config,
) (map[string]resource.ActionFunc, error) {
	if s.builtins.Find(schema.GroupResource{Resource: "pods"}) == nil {
		return actions, nil
	}
	evictor, err := eviction.New(own)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(actions)
	if all == nil {
		all = map[string]resource.ActionFunc{}
	}
	all["pods/binding"], all["pods/eviction"] = pods.Bind, evictor.Evict
	return all, nil
}

var priorityClasses = schedulingv1.Resource("priorityclasses")

// addPriorityClasses adds the classes of system pods, if classes are served.
func (o *systemObjects) addPriorityClasses() {
	d := o.builtins.Find(priorityClasses)
	if d == nil {
		return
	}
	for _, class := range scheduling.System() {
		o.objects = append(o.objects, bootstrap.Object{
			Definition: d, Object: class, Fields: scheduling.SystemFields,
		})
	}
}
