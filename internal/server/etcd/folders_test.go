package etcd

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestFolders(t *testing.T) {
	f := NewFolders("/registry")
	events := schema.GroupResource{Resource: "events"}
	endpoints := schema.GroupResource{Resource: "endpoints"}
	leases := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	f.Add("events", events)
	f.Add("events", schema.GroupResource{Group: "events.k8s.io", Resource: "events"})
	f.Add("services/endpoints", endpoints)
	f.Add("leases", leases)
	custom := schema.GroupResource{Group: "shop.example.com", Resource: "tables"}
	for key, want := range map[string]schema.GroupResource{
		"/registry/events/default/one":                 events,
		"/registry/services/endpoints/default/events":  endpoints,
		"/registry/leases/default/one":                 leases,
		"/registry/leases/":                            leases,
		"/registry/shop.example.com/tables/events/one": custom,
		"/registry/shop.example.com/tables/":           custom,
		"/registry":                                    {},
		"compact_rev_key":                              {},
	} {
		if got := f.Resource(key); got != want {
			t.Errorf("%s is of %v", key, got)
		}
	}
	for resource, folder := range map[schema.GroupResource]string{
		events: "events", {Group: "events.k8s.io", Resource: "events"}: "events", leases: "leases",
		endpoints: "services/endpoints", custom: "shop.example.com/tables",
	} {
		if got := f.Folder(resource); got != folder {
			t.Errorf("the folder of %v is %s", resource, got)
		}
	}
	if got := f.ResourceIn("leases"); got != leases {
		t.Errorf("the folder leases is of %v", got)
	}
	if got := f.ResourceIn("shop.example.com/tables"); got != custom {
		t.Errorf("the folder of tables is of %v", got)
	}
	if f.Has(custom) || !f.Has(leases) {
		t.Error("resources that were added are not told from others")
	}
	key := "/registry/shop.example.com/tables/default/one"
	if n := testing.AllocsPerRun(100, func() { f.Has(f.Resource(key)) }); n != 0 {
		t.Errorf("%v allocations per key", n)
	}
}
