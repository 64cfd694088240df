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
	rowWatch = Work{"watch", "watch: 200 watchers x 300 events, by delivered event", MicrosCPU, Target{8, 6}}
	rowLag   = Work{"watch", "watch: p99 from the write's sending to the event's arrival", Millis, Target{10, 0}}
)

const (
	watchers    = 200
	watchEvents = 300
)

// watchedName is the object that is changed.
const watchedName = "watched"

// watch opens watches, changes one object, and waits until every watcher has seen every change.
func (b *Bench) watch(ctx context.Context, s *Server) error {
	b.progress(rowWatch.Part, rowWatch.Name, s.Kind)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	created, err := s.Client().Do(ctx, http.StatusCreated, http.MethodPost, widgets, asJSON, widget("Widget", watchedName, 0, 1))
	if err != nil {
		return err
	}
	after, err := revision(created)
	if err != nil {
		return err
	}
	var (
		// sent[i] is when the i-th change was sent, written before it is.
		sent    = make([]time.Time, watchEvents)
		lags    = make([][]time.Duration, watchers)
		errs    = make([]error, watchers)
		opened  sync.WaitGroup
		reading sync.WaitGroup
	)
	opened.Add(watchers)
	for i := range watchers {
		reading.Go(func() {
			lags[i], errs[i] = s.follow(ctx, after, sent, opened.Done)
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
	all := slices.Concat(lags...)
	sample := Sample{Ops: len(all), Elapsed: elapsed, CPU: used - before, P50: percentile(all, 50), P99: percentile(all, 99)}
	b.Results.PutSample(rowWatch, s.Kind, sample)
	b.Results.Put(rowLag, s.Kind, millis(sample.P99))
	return nil
}

// follow watches, with a client of its own, until all changes have come, in order. It calls opened once.
func (s *Server) follow(ctx context.Context, after string, sent []time.Time, opened func()) ([]time.Duration, error) {
	once := sync.OnceFunc(opened)
	defer once()
	c, err := s.NewClient()
	if err != nil {
		return nil, err
	}
	defer c.Close()
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

// changeOf is the number of the change that an event shows.
func changeOf(event []byte) (int, bool) {
	_, after, _ := bytes.Cut(event, []byte(`"change":"#`))
	number, _, found := bytes.Cut(after, []byte("#"))
	change, err := strconv.Atoi(string(number))
	return change, found && err == nil
}

// revision is the resourceVersion of an object, found without reading the rest.
func revision(object []byte) (string, error) {
	_, after, found := bytes.Cut(object, []byte(`"resourceVersion":"`))
	value, _, complete := bytes.Cut(after, []byte(`"`))
	if !found || !complete {
		return "", errors.New("an object has no resourceVersion")
	}
	return string(value), nil
}
