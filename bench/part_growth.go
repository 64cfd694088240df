package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// partGrowth runs only if it is named: it takes minutes, and upstream cannot do it.
const partGrowth = "growth"

// Rows of the part growth: five times as many CRDs, the same ones under five group names.
var (
	rowGrown       = Work{partGrowth, "10,000 CRDs: memory right after", Megabytes, Target{1000, 0}}
	rowGrownListed = Work{partGrowth, "10,000 CRDs: memory, each resource listed once", Megabytes, Target{1000, 0}}
	rowGrownStart  = Work{partGrowth, "10,000 CRDs: start with them", Millis, Target{}}
)

const (
	// groupNames is the number of names for each group.
	groupNames = 5
	// grownFifth is the number of CRDs under each.
	grownFifth = 10000 / groupNames
)

// rowGrowth is the cost of installing the n-th fifth of the CRDs. It grows if a CRD costs more the more there are.
func rowGrowth(n int) Work {
	return Work{partGrowth, fmt.Sprintf("10,000 CRDs: CPU of a creation, fifth %d", n), MillisCPU, Target{}}
}

// growth installs many CRDs in five steps and uses them.
func (b *Bench) growth(ctx context.Context) (err error) {
	definitions, err := b.definitions(grownFifth)
	if err != nil {
		return err
	}
	if len(definitions) < grownFifth {
		return fmt.Errorf("part %s takes %d CRDs, and there are %d in %s", partGrowth, grownFifth, len(definitions), b.CRDs)
	}
	s, err := start(ctx, b.Programs, Ours)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	var all []*Definition
	for n := range groupNames {
		batch, err := renamed(definitions, n)
		if err != nil {
			return err
		}
		all = append(all, batch...)
		if err := b.load(ctx, s, rowGrowth(n+1), Load{For: discoveryTimeout, Count: len(batch),
			Op: func(ctx context.Context, c *Client, i int) error {
				_, err := c.Do(ctx, http.StatusCreated, http.MethodPost, crds, asJSON, batch[i].Body)
				return err
			}}); err != nil {
			return err
		}
	}
	if err := s.waitDiscovered(ctx, all, true); err != nil {
		return err
	}
	b.Results.Note(rowGrown, s.Kind, "%d CRDs", len(all))
	if err := b.memory(ctx, s, rowGrown); err != nil {
		return err
	}
	b.progress(partGrowth, rowGrownListed.Name, s.Kind)
	lists := Load{For: discoveryTimeout, Count: len(all), Op: func(ctx context.Context, c *Client, i int) error {
		_, err := c.Get(ctx, all[i].Path)
		return err
	}}
	if _, err := lists.run(ctx, s); err != nil {
		return err
	}
	if err := b.memory(ctx, s, rowGrownListed); err != nil {
		return err
	}
	if err := s.restart(ctx); err != nil {
		return err
	}
	b.Results.Put(rowGrownStart, s.Kind, millis(s.Started))
	return nil
}

// renamed returns the CRDs with the n-th names of their groups.
func renamed(definitions []*Definition, n int) ([]*Definition, error) {
	batch := make([]*Definition, 0, len(definitions))
	for _, d := range definitions {
		plural, group, _ := strings.Cut(d.Name, ".")
		other := fmt.Sprintf("n%d.%s", n, group)
		body := bytes.ReplaceAll(d.Body, fmt.Appendf(nil, `"group":%q`, group), fmt.Appendf(nil, `"group":%q`, other))
		body = bytes.ReplaceAll(body, fmt.Appendf(nil, `"name":%q`, d.Name), fmt.Appendf(nil, `"name":%q`, plural+"."+other))
		copied, err := newDefinition(body)
		if err != nil {
			return nil, err
		}
		batch = append(batch, copied)
	}
	return batch, nil
}
