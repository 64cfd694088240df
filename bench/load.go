package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Load describes a load.
type Load struct {
	// Clients is how many clients work at a time; 0 means clientCount.
	Clients int
	// For is the duration of the load; Count, if not 0, ends it sooner.
	For   time.Duration
	Count int
	// Op does the i-th operation; i starts at First.
	Op    func(ctx context.Context, c *Client, i int) error
	First int
}

// Sample is the cost of a load.
type Sample struct {
	Ops     int
	Elapsed time.Duration
	// CPU is the CPU time of the server's process.
	CPU      time.Duration
	P50, P99 time.Duration
}

// PerOp is the CPU time of one operation.
func (s Sample) PerOp() time.Duration { return s.CPU / time.Duration(max(s.Ops, 1)) }

// Rate is operations a second.
func (s Sample) Rate() float64 { return float64(s.Ops) / s.Elapsed.Seconds() }

// run puts the load on the server. The first error ends it.
func (l Load) run(ctx context.Context, s *Server) (Sample, error) {
	clients, err := s.crew(cmp.Or(l.Clients, clientCount))
	if err != nil {
		return Sample{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	before, err := cpuTime(s.Pid())
	if err != nil {
		return Sample{}, err
	}
	start := time.Now()
	var (
		next      atomic.Int64
		workers   sync.WaitGroup
		latencies = make([][]time.Duration, len(clients))
	)
	for number, client := range clients {
		workers.Go(func() {
			for time.Since(start) < l.For && ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if l.Count > 0 && i >= l.Count {
					return
				}
				began := time.Now()
				if err := l.Op(ctx, client, l.First+i); err != nil {
					cancel(err)
					return
				}
				latencies[number] = append(latencies[number], time.Since(began))
			}
		})
	}
	workers.Wait()
	elapsed := time.Since(start)
	if err := context.Cause(ctx); err != nil {
		return Sample{}, err
	}
	after, err := cpuTime(s.Pid())
	if err != nil {
		return Sample{}, err
	}
	all := slices.Concat(latencies...)
	if len(all) == 0 {
		return Sample{}, errors.New("no operation was done")
	}
	return Sample{
		Ops: len(all), Elapsed: elapsed, CPU: after - before,
		P50: percentile(all, 50), P99: percentile(all, 99),
	}, nil
}

// percentile sorts the values, of which there must be at least one.
func percentile(values []time.Duration, percent int) time.Duration {
	slices.Sort(values)
	return values[(len(values)-1)*percent/100]
}
