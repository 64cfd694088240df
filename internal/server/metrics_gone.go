package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/crd-server/crd-server/internal/crds"
)

// Requests are counted by resource. kube-apiserver keeps these series for ever; here they go with the CRD. A request that began before
// counts when it ends: so they are looked for again, at twice the age each time, until the longest request must have ended.
const (
	forgetFirst = time.Second
	forgetLast  = 2 * time.Minute
)

// goneResources are resources whose CRDs were deleted, and whose series are to be forgotten.
type goneResources struct {
	table *crds.Table

	mu  sync.Mutex // guards all
	all map[schema.GroupResource]*gone
}

// gone is what happened to a resource.
type gone struct {
	deleted time.Time
	next    time.Duration // after the deletion its series are looked for again
}

// followGone remembers the CRDs that are deleted. It is called before the table runs.
func followGone(table *crds.Table) *goneResources {
	g := &goneResources{table: table, all: map[schema.GroupResource]*gone{}}
	table.OnChange(func(old, record *crds.Record) {
		if record != nil {
			return
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		g.all[schema.GroupResource{Group: old.Group, Resource: old.Names.Plural}] = &gone{deleted: time.Now(), next: forgetFirst}
	})
	return g
}

// run forgets series until ctx is done.
func (g *goneResources) run(ctx context.Context) {
	ticker := time.NewTicker(forgetFirst)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			if due := g.due(now); len(due) > 0 {
				forgetSeries(due)
			}
		case <-ctx.Done():
			return
		}
	}
}

// due returns the resources whose series are to be forgotten now. Those that came back are not.
func (g *goneResources) due(now time.Time) map[schema.GroupResource]bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	due := map[schema.GroupResource]bool{}
	for resource, gone := range g.all {
		age := now.Sub(gone.deleted)
		_, back := g.table.Get(resource.String())
		if back || age >= forgetLast {
			delete(g.all, resource)
		}
		if back || age < gone.next {
			continue
		}
		due[resource] = true
		gone.next = min(2*age, forgetLast)
	}
	return due
}

// forgetSeries deletes the series of all metrics with these resources.
func forgetSeries(resources map[schema.GroupResource]bool) {
	families, _ := legacyregistry.DefaultGatherer.Gather() // what could be gathered comes with an error about the rest
	for _, family := range families {
		var vector deleter
		for _, metric := range family.GetMetric() {
			labels := labelsOf(metric)
			if !resources[schema.GroupResource{Group: labels["group"], Resource: labels["resource"]}] {
				continue
			}
			if vector == nil {
				if vector = vectorOf(family, labels); vector == nil {
					break
				}
			}
			vector.Delete(labels)
		}
	}
}

// deleter is what vectors of metrics have in common.
type deleter interface {
	Delete(labels map[string]string) bool
}

func labelsOf(metric *dto.Metric) map[string]string {
	labels := make(map[string]string, len(metric.GetLabel()))
	for _, pair := range metric.GetLabel() {
		labels[pair.GetName()] = pair.GetValue()
	}
	return labels
}

// vectorOf returns the vector that a family of metrics is from; nil if it is from something else. The packages that have them do not show
// them, but their registry tells what is registered under a description.
func vectorOf(family *dto.MetricFamily, labels map[string]string) deleter {
	names := make([]string, 0, len(labels))
	for name := range labels {
		names = append(names, name)
	}
	probe := described{prometheus.NewDesc(family.GetName(), family.GetHelp(), names, nil)}
	err := legacyregistry.Registerer().Register(probe)
	if err == nil {
		legacyregistry.Registerer().Unregister(probe)
		return nil
	}
	var registered prometheus.AlreadyRegisteredError
	if !errors.As(err, &registered) {
		return nil
	}
	vector, _ := registered.ExistingCollector.(deleter)
	return vector
}

// described is a collector of nothing.
type described struct{ desc *prometheus.Desc }

func (d described) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- d.desc }

func (d described) Collect(chan<- prometheus.Metric) {}
