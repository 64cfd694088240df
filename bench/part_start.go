package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Rows of the part start.
var (
	rowStart = Work{partStart, "start: exec to /readyz, empty store", Millis, Target{180, 0}}
	rowIdle  = Work{partStart, "memory idle, no CRDs", Megabytes, Target{60, 0}}
)

const (
	starts = 5
	// idleFor is the time without requests before memory is measured.
	idleFor = 5 * time.Second
)

// starts starts every kind several times and uses the last server of each.
func (b *Bench) starts(ctx context.Context) error {
	for _, kind := range b.kinds(Upstream, Ours, Embedded) {
		if err := b.startOften(ctx, kind); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

func (b *Bench) startOften(ctx context.Context, kind Kind) (err error) {
	var server, etcd []time.Duration
	for range starts - 1 {
		b.progress(partStart, rowStart.Name, kind)
		s, err := start(ctx, b.Programs, kind)
		if err != nil {
			return err
		}
		server, etcd = append(server, s.Started), append(etcd, s.EtcdStarted)
		if err := s.Stop(); err != nil {
			return err
		}
	}
	s, err := start(ctx, b.Programs, kind)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	server, etcd = append(server, s.Started), append(etcd, s.EtcdStarted)
	b.Results.Put(rowStart, kind, millis(percentile(server, 50)))
	if kind != Embedded {
		b.Results.Note(rowStart, kind, "and %.0f ms for its etcd", millis(percentile(etcd, 50)))
	}
	if err := b.idle(ctx, s); err != nil {
		return err
	}
	return b.firstObjects(ctx, s)
}

// idle measures the memory of an unused server and of its etcd.
func (b *Bench) idle(ctx context.Context, s *Server) error {
	b.progress(partStart, rowIdle.Name, s.Kind)
	if err := pause(ctx, idleFor); err != nil {
		return err
	}
	if err := b.memory(ctx, s, rowIdle); err != nil || s.etcd == nil {
		return err
	}
	etcd, err := anonymous(s.etcd.command.Process.Pid)
	if err == nil {
		b.Results.Note(rowIdle, s.Kind, "and %.0f MB for its etcd", etcd)
	}
	return err
}
