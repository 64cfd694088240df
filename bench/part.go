package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Bench is one run.
type Bench struct {
	Programs Programs
	Results  Results
	// Objects is the number of objects of the object rows.
	Objects int
	// Load is the duration of each load.
	Load time.Duration
	// CRDs is a directory of CRDs for the part crds; "" generates them. MaxCRDs bounds their number.
	CRDs    string
	MaxCRDs int
	// Alone leaves out upstream and the bare handler, for work on crd-server.
	Alone bool
	// Profiles is a directory for profiles of crd-server, or "". Taking profiles changes the figures a little.
	Profiles string

	began time.Time
}

// part is a group of rows that can be run alone.
type part struct {
	name string
	run  func(b *Bench, ctx context.Context, s *Server) error
	// bare is true if the bare handler can do the part.
	bare bool
}

// objectParts share servers and their objects, in this order: later parts do not affect earlier ones.
var objectParts = []part{
	{name: "create", run: (*Bench).create},
	{name: "list", run: (*Bench).list},
	{name: "memory", run: (*Bench).manyLists},
	{name: "get", run: (*Bench).get, bare: true},
	{name: "write", run: (*Bench).write},
	{name: "watch", run: (*Bench).watch, bare: true},
	{name: "delete", run: (*Bench).delete},
}

// Parts with servers of their own.
const (
	partStart = "start"
	partScale = "scale"
	partCrowd = "crowd"
	partCRDs  = "crds"
	// partBuiltin compares built-in resources with kube-apiserver.
	partBuiltin = "builtin"
)

func partNames() []string {
	names := []string{partStart}
	for _, p := range objectParts {
		names = append(names, p.name)
	}
	return append(names, partScale, partCrowd, partCRDs, partBuiltin)
}

// run runs parts by name.
func (b *Bench) run(ctx context.Context, names []string) error {
	b.began = time.Now()
	wanted := func(name string) bool { return slices.Contains(names, name) }
	for _, name := range names {
		if all := append(partNames(), partGrowth); !slices.Contains(all, name) {
			return fmt.Errorf("no part is called %q; there are %s", name, strings.Join(all, ", "))
		}
	}
	if wanted(partStart) {
		if err := b.starts(ctx); err != nil {
			return fmt.Errorf("%s: %w", partStart, err)
		}
	}
	if slices.ContainsFunc(objectParts, func(p part) bool { return wanted(p.name) }) {
		if err := b.objects(ctx, wanted); err != nil {
			return err
		}
	}
	for _, own := range []struct {
		name string
		run  func(context.Context) error
	}{{partScale, b.scale}, {partCrowd, b.crowd}, {partCRDs, b.manyCRDs}, {partBuiltin, b.builtin},
		{partGrowth, b.growth}} {
		if !wanted(own.name) {
			continue
		}
		if err := own.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", own.name, err)
		}
	}
	return nil
}

// objects runs each object part on upstream, on crd-server and, if possible, on the bare handler before the next
// part, so that all find the same machine.
func (b *Bench) objects(ctx context.Context, wanted func(string) bool) (err error) {
	var servers []*Server
	defer func() {
		for _, s := range servers {
			err = errors.Join(err, s.Stop())
		}
	}()
	for _, kind := range b.kinds(Upstream, Ours, Bare) {
		s, err := start(ctx, b.Programs, kind)
		if err != nil {
			return err
		}
		servers = append(servers, s)
	}
	for _, p := range objectParts {
		if !wanted(p.name) && p.name != "create" {
			continue
		}
		for _, s := range servers {
			if s.Kind == Bare && !p.bare {
				continue
			}
			if err := p.run(b, ctx, s); err != nil {
				return fmt.Errorf("%s, %s: %w", p.name, s.Kind, err)
			}
		}
	}
	if wanted("memory") || wanted("create") {
		return b.inOneProcess(ctx)
	}
	return nil
}

// kinds removes the kinds that are not measured.
func (b *Bench) kinds(all ...Kind) []Kind {
	return slices.DeleteFunc(all, func(k Kind) bool { return b.Alone && !k.own() })
}

// inOneProcess creates and lists with etcd embedded.
func (b *Bench) inOneProcess(ctx context.Context) (err error) {
	s, err := start(ctx, b.Programs, Embedded)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	if err := b.create(ctx, s); err != nil {
		return fmt.Errorf("create, %s: %w", s.Kind, err)
	}
	return b.manyLists(ctx, s)
}

// load runs a load and records its cost in a row.
func (b *Bench) load(ctx context.Context, s *Server, work Work, l Load) error {
	b.progress(work.Part, work.Name, s.Kind)
	if l.For == 0 {
		l.For = b.Load
	}
	wait, err := b.profile(ctx, s, work, min(l.For, b.Load))
	if err != nil {
		return err
	}
	sample, err := l.run(ctx, s)
	if err != nil {
		return fmt.Errorf("%s: %w", work.Name, err)
	}
	if err := wait(); err != nil {
		return err
	}
	b.Results.PutSample(work, s.Kind, sample)
	return nil
}

// pause lets time pass without requests.
func pause(ctx context.Context, length time.Duration) error {
	select {
	case <-time.After(length):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// memory records the memory of a server in a row.
func (b *Bench) memory(ctx context.Context, s *Server, work Work) error {
	value, err := anonymous(s.Pid())
	if err != nil {
		return err
	}
	return b.put(ctx, s, work, value)
}

// put records an amount of memory and takes a heap profile.
func (b *Bench) put(ctx context.Context, s *Server, work Work, megabytes float64) error {
	b.Results.Put(work, s.Kind, megabytes)
	return b.heapProfile(ctx, s, work)
}

// progress prints what is running, in one line.
func (b *Bench) progress(part, what string, kind Kind) {
	fmt.Fprintf(os.Stderr, "\r\033[K%5s  load %s  %s: %s, %s", time.Since(b.began).Round(time.Second), loadAverage(), part,
		what, kind)
}
