package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Rows of the part watch.
var (
	rowWatch      = Work{"watch", "watch: 200 watchers x 300 events, by delivered event", MicrosCPU, Target{8, 6}}
	rowLag        = Work{"watch", "watch: p99 from the write's sending to the event's arrival", Millis, Target{10, 0}}
	rowWatchApart = Work{"watch", "watch: the same, a connection each", MicrosCPU, Target{8, 6}}
	rowLagApart   = Work{"watch", "watch: p99 of these", Millis, Target{10, 0}}
)

const (
	watchers    = 200
	watchEvents = 300
)

// watchedName is the name of the changed object.
const watchedName = "watched"

// watch measures many watchers, first with many on a connection, as informers of a few processes, then with a
// connection each.
func (b *Bench) watch(ctx context.Context, s *Server) error {
	created, err := s.Client().Do(ctx, http.StatusCreated, http.MethodPost, widgets, asJSON,
		widget("Widget", watchedName, 0, 1))
	if err != nil {
		return err
	}
	together := watched{
		work: rowWatch, lag: rowLag, collection: widgets, clients: s.clients[:clientCount], watchers: watchers,
		events: watchEvents,
	}
	if err := b.watchFrom(ctx, s, created, together); err != nil {
		return err
	}
	apart := together
	apart.work, apart.lag, apart.clients = rowWatchApart, rowLagApart, make([]*Client, watchers)
	for i := range apart.clients {
		if apart.clients[i], err = s.NewClient(); err != nil {
			return err
		}
		defer apart.clients[i].Close()
	}
	latest, err := s.Client().Get(ctx, widgets+"/"+watchedName)
	if err != nil {
		return err
	}
	return b.watchFrom(ctx, s, latest, apart)
}

// watched describes watches of a collection with one object that changes, the one called watchedName.
type watched struct {
	work Work
	// lag is the row of the lag, if it has one.
	lag        Work
	collection string
	// clients share the watchers.
	clients          []*Client
	watchers, events int
}

// watchFrom opens watches, changes the object, and waits until every watcher has got every event.
func (b *Bench) watchFrom(ctx context.Context, s *Server, state []byte, w watched) error {
	b.progress(w.work.Part, w.work.Name, s.Kind)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	after, err := revision(state)
	if err != nil {
		return err
	}
	var (
		// sent[i] is the time before the i-th change is sent.
		sent    = make([]time.Time, w.events)
		lags    = make([][]time.Duration, w.watchers)
		errs    = make([]error, w.watchers)
		opened  sync.WaitGroup
		reading sync.WaitGroup
	)
	opened.Add(w.watchers)
	for i := range w.watchers {
		reading.Go(func() {
			path := w.collection + "?watch=true&resourceVersion=" + after
			lags[i], errs[i] = w.clients[i%len(w.clients)].follow(ctx, path, sent, opened.Done)
			if errs[i] != nil {
				cancel()
			}
		})
	}
	opened.Wait()
	if ctx.Err() != nil {
		reading.Wait()
		return errors.Join(errs...)
	}
	before, err := cpuTime(s.Pid())
	if err != nil {
		return err
	}
	wait, err := b.profile(ctx, s, w.work, b.Load)
	if err != nil {
		return err
	}
	began := time.Now()
	for i := range w.events {
		sent[i] = time.Now()
		body := fmt.Appendf(nil, `{"metadata":{"annotations":{"change":"#%d#"}}}`, i)
		if _, err := s.Client().Do(ctx, http.StatusOK, http.MethodPatch, w.collection+"/"+watchedName, asMergePatch,
			body); err != nil {
			cancel()
			reading.Wait()
			return errors.Join(append(errs, err)...)
		}
	}
	reading.Wait()
	elapsed := time.Since(began)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	used, err := cpuTime(s.Pid())
	if err != nil {
		return err
	}
	if err := wait(); err != nil {
		return err
	}
	all := slices.Concat(lags...)
	sample := Sample{Ops: len(all), Elapsed: elapsed, CPU: used - before, P50: percentile(all, 50),
		P99: percentile(all, 99)}
	b.Results.PutSample(w.work, s.Kind, sample)
	if w.lag != (Work{}) {
		b.Results.Put(w.lag, s.Kind, millis(sample.P99))
	}
	return nil
}

// follow watches until all changes have come, in order. It calls opened once.
func (c *Client) follow(ctx context.Context, path string, sent []time.Time, opened func()) ([]time.Duration, error) {
	once := sync.OnceFunc(opened)
	defer once()
	resp, err := c.open(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("watch: status %d", resp.StatusCode)
	}
	once()
	var (
		lags   []time.Duration
		rest   []byte
		buffer = make([]byte, 32<<10)
	)
	for len(lags) < len(sent) {
		n, err := resp.Body.Read(buffer)
		now := time.Now()
		rest = append(rest, buffer[:n]...)
		for {
			change, more, complete := nextChange(rest)
			if !complete {
				break
			}
			if change != len(lags) {
				return lags, fmt.Errorf("watch: event %d is not the one expected: %.300s", len(lags), rest)
			}
			rest = more
			lags = append(lags, now.Sub(sent[change]))
		}
		if err != nil && len(lags) < len(sent) {
			if errors.Is(err, io.EOF) {
				err = errors.New("the server ended it")
			}
			return lags, fmt.Errorf("watch after %d events: %w", len(lags), err)
		}
	}
	return lags, nil
}

// nextChange returns the number of the next change in a stream, -1 if it has none, and what follows the number. It
// knows the mark that watchFrom puts into the object, which looks the same in JSON and in protobuf. complete is false
// if the stream has no whole mark yet.
func nextChange(stream []byte) (change int, rest []byte, complete bool) {
	_, after, _ := bytes.Cut(stream, []byte("#"))
	number, rest, complete := bytes.Cut(after, []byte("#"))
	if !complete {
		return 0, nil, false
	}
	change, err := strconv.Atoi(string(number))
	if err != nil {
		change = -1
	}
	return change, rest, true
}

// revision finds the resourceVersion of an object without decoding it.
func revision(object []byte) (string, error) {
	_, after, found := bytes.Cut(object, []byte(`"resourceVersion":"`))
	value, _, complete := bytes.Cut(after, []byte(`"`))
	if !found || !complete {
		return "", errors.New("an object has no resourceVersion")
	}
	return string(value), nil
}
