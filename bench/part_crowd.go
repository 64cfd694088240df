package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Rows of the part crowd: the cost of many clients at once, and the latency for others.
var (
	rowQuiet     = Work{partCrowd, "GET one, 16 clients, p99 with nobody else", Millis, Target{}}
	rowSlow      = Work{partCrowd, "peak memory, 200 lists of 23 MB read slowly", Megabytes, Target{}}
	rowSlowGet   = Work{partCrowd, "GET one, 16 clients, p99 meanwhile", Millis, Target{}}
	rowOpening   = Work{partCrowd, "memory right after 10,000 watches were opened", Megabytes, Target{}}
	rowOpen      = Work{partCrowd, "memory with 10,000 open watches, after ten seconds", Megabytes, Target{500, 0}}
	rowOpenGet   = Work{partCrowd, "GET one, 16 clients, p99 with these and no events", Millis, Target{}}
	rowOpenEvent = Work{partCrowd, "watch: 10,000 watchers x 20 events, by delivered event", MicrosCPU, Target{8, 6}}
	rowOpenLag   = Work{partCrowd, "watch: p99 of these", Millis, Target{}}
)

const (
	slowReaders = 200
	// slowBuffer is the size of a slow reader's receive buffer, slowPause the pause between its reads.
	slowBuffer = 64 << 10
	slowPause  = 250 * time.Millisecond

	openWatches = 10000
	// openConnections is the number of connections for watches, so that no server refuses streams.
	openConnections = 100
	openEvents      = 20
	// openFor is the time until memory is measured again.
	openFor = 10 * time.Second
)

// crowd measures many slow readers and many watches. It leaves out upstream where that would need tens of gigabytes,
// because it holds each list in memory.
func (b *Bench) crowd(ctx context.Context) error {
	for _, kind := range b.kinds(Upstream, Ours) {
		if err := b.crowdOn(ctx, kind); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

func (b *Bench) crowdOn(ctx context.Context, kind Kind) (err error) {
	s, err := start(ctx, b.Programs, kind)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	if err := s.createWidgets(ctx); err != nil {
		return err
	}
	if err := s.fill(ctx, b.Objects); err != nil {
		return err
	}
	if _, err := s.Client().Drain(ctx, allWidgets+"?limit=500"); err != nil {
		return err
	}
	if err := b.getMeanwhile(ctx, s, rowQuiet); err != nil {
		return err
	}
	if kind != Upstream {
		if err := b.slowLists(ctx, s); err != nil {
			return err
		}
	}
	return b.openMany(ctx, s)
}

// getMeanwhile reads objects and records a high percentile of the latency.
func (b *Bench) getMeanwhile(ctx context.Context, s *Server, work Work) error {
	b.progress(work.Part, work.Name, s.Kind)
	reads := Load{For: b.Load, Op: func(ctx context.Context, c *Client, i int) error {
		_, err := c.Get(ctx, widgets+"/"+widgetName(i*7919%b.Objects))
		return err
	}}
	sample, err := reads.run(ctx, s)
	if err != nil {
		return err
	}
	b.Results.Put(work, s.Kind, millis(sample.P99))
	return nil
}

// slowLists opens many lists of everything and reads them slowly.
func (b *Bench) slowLists(ctx context.Context, s *Server) error {
	b.progress(rowSlow.Part, rowSlow.Name, s.Kind)
	stop := watchPeak(s.Pid())
	reading, leave := context.WithCancel(ctx)
	var (
		readers sync.WaitGroup
		errs    = make([]error, slowReaders)
		begun   sync.WaitGroup
	)
	begun.Add(slowReaders)
	for i := range slowReaders {
		readers.Go(func() { errs[i] = s.readSlowly(reading, begun.Done) })
	}
	begun.Wait()
	err := b.getMeanwhile(ctx, s, rowSlowGet)
	leave()
	readers.Wait()
	peak, sampling := stop()
	if err := errors.Join(append(errs, err, sampling)...); err != nil {
		return err
	}
	return b.put(ctx, s, rowSlow, peak)
}

// readSlowly reads a list until the context ends, long before the list does. It calls begun once.
func (s *Server) readSlowly(ctx context.Context, begun func()) error {
	once := sync.OnceFunc(begun)
	defer once()
	c, err := s.NewClient()
	if err != nil {
		return err
	}
	defer c.Close()
	c.http.Transport.(*http.Transport).HTTP2 = &http.HTTP2Config{
		MaxReceiveBufferPerStream: slowBuffer, MaxReceiveBufferPerConnection: slowBuffer,
	}
	c.plain = true
	resp, err := c.open(ctx, http.MethodGet, allWidgets, "", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	pause := time.NewTicker(slowPause)
	defer pause.Stop()
	for buffer := make([]byte, 4<<10); ; {
		n, err := resp.Body.Read(buffer)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("a list that is read slowly ended: %w", err)
		case n > 0:
			once()
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// openMany opens watches, then changes an object that all of them see.
func (b *Bench) openMany(ctx context.Context, s *Server) error {
	b.progress(rowOpen.Part, rowOpen.Name, s.Kind)
	clients := make([]*Client, openConnections)
	for i := range clients {
		var err error
		if clients[i], err = s.NewClient(); err != nil {
			return err
		}
		defer clients[i].Close()
	}
	latest, err := s.Client().Get(ctx, widgets+"/"+widgetName(b.Objects-1)) // the last one created
	if err != nil {
		return err
	}
	after, err := revision(latest)
	if err != nil {
		return err
	}
	watching, leave := context.WithCancel(ctx)
	defer leave()
	var (
		sent    = make([]time.Time, openEvents)
		lags    = make([][]time.Duration, openWatches)
		errs    = make([]error, openWatches)
		opened  sync.WaitGroup
		reading sync.WaitGroup
	)
	opened.Add(openWatches)
	for i := range openWatches {
		reading.Go(func() {
			if lags[i], errs[i] = clients[i%openConnections].count(watching, after, sent, opened.Done); errs[i] != nil {
				leave()
			}
		})
	}
	opened.Wait()
	if watching.Err() == nil {
		err = b.withOpen(watching, s, sent, &reading)
	}
	leave()
	reading.Wait()
	if failed := slices.IndexFunc(errs, func(err error) bool { return err != nil }); failed >= 0 {
		err = errors.Join(err, errs[failed]) // it causes the others
	}
	if err != nil {
		return err
	}
	b.Results.Put(rowOpenLag, s.Kind, millis(percentile(slices.Concat(lags...), 99)))
	return nil
}

// withOpen measures while the watches are open.
func (b *Bench) withOpen(ctx context.Context, s *Server, sent []time.Time, reading *sync.WaitGroup) error {
	if err := b.memory(ctx, s, rowOpening); err != nil {
		return err
	}
	if err := pause(ctx, openFor); err != nil {
		return err
	}
	if err := b.memory(ctx, s, rowOpen); err != nil {
		return err
	}
	if err := b.getMeanwhile(ctx, s, rowOpenGet); err != nil {
		return err
	}
	b.progress(rowOpenEvent.Part, rowOpenEvent.Name, s.Kind)
	before, err := cpuTime(s.Pid())
	if err != nil {
		return err
	}
	for i := range sent {
		sent[i] = time.Now()
		body := fmt.Appendf(nil, `{"metadata":{"annotations":{"change":"#%d#"}}}`, i)
		if _, err := s.Client().Do(ctx, http.StatusOK, http.MethodPatch, widgets+"/"+widgetName(0), asMergePatch,
			body); err != nil {
			return err
		}
	}
	reading.Wait()
	used, err := cpuTime(s.Pid())
	if err != nil {
		return err
	}
	b.Results.Put(rowOpenEvent, s.Kind, float64((used-before).Microseconds())/float64(openWatches*len(sent)))
	return nil
}

// count reads a watch until it has got as many events as were sent. It calls opened once.
func (c *Client) count(ctx context.Context, after string, sent []time.Time, opened func()) ([]time.Duration, error) {
	once := sync.OnceFunc(opened)
	defer once()
	resp, err := c.open(ctx, http.MethodGet, widgets+"?watch=true&timeoutSeconds=3600&resourceVersion="+after, "", nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("watch: status %d", resp.StatusCode)
	}
	once()
	lags := make([]time.Duration, 0, len(sent))
	for buffer := make([]byte, 2<<10); len(lags) < len(sent); {
		n, err := resp.Body.Read(buffer)
		now := time.Now()
		for range bytes.Count(buffer[:n], []byte("\n")) {
			lags = append(lags, now.Sub(sent[len(lags)]))
		}
		if err != nil && len(lags) < len(sent) {
			return lags, fmt.Errorf("watch after %d events: %w", len(lags), err)
		}
	}
	return lags, nil
}
