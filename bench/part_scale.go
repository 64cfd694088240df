package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// scales are the numbers of objects in the part scale.
var scales = []int{1000, 10000, 100000}

// atScale is the work of a row at a number of objects. Its target is the same at every scale.
func atScale(name string, objects int, unit Unit, target Target) Work {
	return Work{partScale, fmt.Sprintf("%s, %d objects", name, objects), unit, target}
}

// scale measures the same work with more and more objects. Reads and writes of one object must not cost more, a list
// by label must cost its matches, and a list of everything must cost the same for each object.
func (b *Bench) scale(ctx context.Context) error {
	for _, objects := range scales {
		for _, kind := range b.kinds(Upstream, Ours) {
			if err := b.scaleOne(ctx, kind, objects); err != nil {
				return fmt.Errorf("%d objects, %s: %w", objects, kind, err)
			}
		}
	}
	return nil
}

func (b *Bench) scaleOne(ctx context.Context, kind Kind, objects int) (err error) {
	s, err := start(ctx, b.Programs, kind)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	b.progress(partScale, fmt.Sprintf("making %d objects", objects), kind)
	if err := s.createWidgets(ctx); err != nil {
		return err
	}
	if err := s.fill(ctx, objects); err != nil {
		return err
	}
	if err := s.warm(ctx); err != nil { // the first read fills the cache
		return err
	}
	path := func(i int) string { return widgets + "/" + widgetName(i*7919%objects) }
	for _, row := range []struct {
		work Work
		load Load
	}{
		{atScale("list by label, 100 matches", objects, MillisCPU, Target{0.8, 0}), Load{Clients: 1,
			Op: func(ctx context.Context, c *Client, _ int) error {
				_, err := c.Drain(ctx, allWidgets+"?labelSelector=shard%3Ds7")
				return err
			}}},
		{atScale("GET one, consistent", objects, MicrosCPU, Target{90, 8}), Load{
			Op: func(ctx context.Context, c *Client, i int) error {
				_, err := c.Get(ctx, path(i))
				return err
			}}},
		{atScale("merge patch", objects, MicrosCPU, Target{600, 5}), Load{
			Op: func(ctx context.Context, c *Client, i int) error {
				body := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, 2+i%maxReplicas)
				_, err := c.Do(ctx, http.StatusOK, http.MethodPatch, path(i), asMergePatch, body)
				return err
			}}},
	} {
		row.load.For = b.Load / 2
		if err := b.load(ctx, s, row.work, row.load); err != nil {
			return err
		}
	}
	return b.scaleList(ctx, s, objects)
}

// scaleList lists everything and records the cost of an object.
func (b *Bench) scaleList(ctx context.Context, s *Server, objects int) error {
	work := atScale("list everything, by object", objects, MicrosCPU, Target{})
	b.progress(work.Part, work.Name, s.Kind)
	if _, _, err := s.Client().Patient(ctx, http.MethodGet, allWidgets+"?limit=1", "", nil); err != nil {
		return err
	}
	list := Load{Clients: 1, For: b.Load / 2, Op: func(ctx context.Context, c *Client, _ int) error {
		_, err := c.Drain(ctx, allWidgets)
		return err
	}}
	sample, err := list.run(ctx, s)
	if err != nil {
		return err
	}
	b.Results.Put(work, s.Kind, float64(sample.PerOp().Nanoseconds())/1e3/float64(objects))
	return b.memory(ctx, s, atScale("memory", objects, Megabytes, Target{}))
}

// warmTries is how often all objects are listed at most before measurements.
const warmTries = 3

// warm reads all objects for the first time. Upstream's server sometimes breaks this response off when there are
// 100,000 of them.
func (s *Server) warm(ctx context.Context) (err error) {
	for range warmTries {
		if _, err = s.Client().Drain(ctx, allWidgets); err == nil || s.Kind != Upstream {
			break
		}
	}
	return err
}
