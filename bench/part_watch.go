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
	created, err := s.Client().Do(ctx, http.StatusCreated, http.MethodPost, widgets, asJSON, widget("Widget", watchedName, 0, 1))
	if err != nil {
		return err
	}
	if err := b.watchFrom(ctx, s, created, s.clients[:clientCount]); err != nil {
		return err
	}
	apart := make([]*Client, watchers)
	for i := range apart {
		if apart[i], err = s.NewClient(); err != nil {
			return err
		}
		defer apart[i].Close()
	}
	latest, err := s.Client().Get(ctx, widgets+"/"+watchedName)
	if err != nil {
		return err
	}
	return b.watchFrom(ctx, s, latest, apart)
}

// watchFrom opens watches, changes the object, and waits until every watcher has got every event.
func (b *Bench) watchFrom(ctx context.Context, s *Server, state []byte, clients []*Client) error {
	work, lag := rowWatch, rowLag
	if len(clients) == watchers {
		work, lag = rowWatchApart, rowLagApart
	}
	b.progress(work.Part, work.Name, s.Kind)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	after, err := revision(state)
	if err != nil {
		return err
	}
	var (
		// sent[i] is the time before the i-th change is sent.
		sent    = make([]time.Time, watchEvents)
		lags    = make([][]time.Duration, watchers)
		errs    = make([]error, watchers)
		opened  sync.WaitGroup
		reading sync.WaitGroup
	)
	opened.Add(watchers)
	for i := range watchers {
		reading.Go(func() {
			lags[i], errs[i] = clients[i%len(clients)].follow(ctx, after, sent, opened.Done)
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
	wait, err := b.profile(ctx, s, work, b.Load)
	if err != nil {
		return err
	}
	began := time.Now()
	for i := range watchEvents {
		sent[i] = time.Now()
		body := fmt.Appendf(nil, `{"metadata":{"annotations":{"change":"#%d#"}}}`, i)
		if _, err := s.Client().Do(ctx, http.StatusOK, http.MethodPatch, widgets+"/"+watchedName, asMergePatch, body); err != nil {
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
	sample := Sample{Ops: len(all), Elapsed: elapsed, CPU: used - before, P50: percentile(all, 50), P99: percentile(all, 99)}
	b.Results.PutSample(work, s.Kind, sample)
	b.Results.Put(lag, s.Kind, millis(sample.P99))
	return nil
}

// follow watches until all changes have come, in order. It calls opened once.
func (c *Client) follow(ctx context.Context, after string, sent []time.Time, opened func()) ([]time.Duration, error) {
	once := sync.OnceFunc(opened)
	defer once()
	resp, err := c.open(ctx, http.MethodGet, widgets+"?watch=true&resourceVersion="+after, "", nil)
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
			line, more, complete := bytes.Cut(rest, []byte("\n"))
			if !complete {
				break
			}
			rest = more
			change, known := changeOf(line)
			if !known || change != len(lags) {
				return lags, fmt.Errorf("watch: event %d is not the one expected: %.300s", len(lags), line)
			}
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

// changeOf returns the number of the change in an event.
func changeOf(event []byte) (int, bool) {
	_, after, _ := bytes.Cut(event, []byte(`"change":"#`))
	number, _, found := bytes.Cut(after, []byte("#"))
	change, err := strconv.Atoi(string(number))
	return change, found && err == nil
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
