package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Rows of the part start for CRDs that are used at once.
var (
	rowFirst           = Work{partStart, "CRD created to first object created, p99", Millis, Target{10, 0}}
	rowFirstDiscovered = Work{partStart, "the same, discovery read by another client", Millis, Target{10, 0}}
)

const (
	// firsts is the maximal number of CRDs that are created one by one, within firstsFor.
	firsts    = 1000
	firstsFor = 20 * time.Second
	// discoverEvery is the interval of the other client.
	discoverEvery = 100 * time.Millisecond
)

// firstObjects creates CRDs and objects of them, alone and while another client reads discovery.
func (b *Bench) firstObjects(ctx context.Context, s *Server) error {
	if err := b.firstObject(ctx, s, rowFirst, "First"); err != nil {
		return err
	}
	discovering, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	other, err := s.NewClient()
	if err != nil {
		return err
	}
	defer other.Close()
	go func() { ended <- other.discover(discovering) }() // ends with discovering
	if err := b.firstObject(ctx, s, rowFirstDiscovered, "Found"); err != nil {
		return err
	}
	stop()
	return <-ended
}

// discover reads discovery and OpenAPI of the group repeatedly. It does not decompress: the client that waits for
// CRDs runs in this process.
func (c *Client) discover(ctx context.Context) error {
	for {
		if _, err := c.Drain(ctx, "/apis/"+widgetGroup+"/v1"); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(discoverEvery): // this rate is part of the row
		}
	}
}

// firstObject creates CRDs one by one, and an object of each as soon as the server takes it.
func (b *Bench) firstObject(ctx context.Context, s *Server, row Work, prefix string) error {
	b.progress(partStart, row.Name, s.Kind)
	wait, err := b.profile(ctx, s, row, b.Load)
	if err != nil {
		return err
	}
	early := 0
	var took []time.Duration
	for i, all := 0, time.Now(); i < firsts && time.Since(all) < firstsFor; i++ {
		began := time.Now()
		refused, err := s.Client().createBoth(ctx, fmt.Sprint(prefix, i))
		if err != nil {
			return err
		}
		early += refused
		took = append(took, time.Since(began))
	}
	if err := wait(); err != nil {
		return err
	}
	b.Results.Put(row, s.Kind, millis(percentile(took, 99)))
	b.Results.Note(row, s.Kind, "%d CRDs, median %.1f ms, %d answers 404 after the 201", len(took),
		millis(percentile(took, 50)), early)
	return nil
}

// createBoth creates a CRD and an object, and returns how often the object was refused because it was too early.
func (c *Client) createBoth(ctx context.Context, kind string) (early int, err error) {
	plural := strings.ToLower(kind) + "s"
	path := "/apis/" + widgetGroup + "/v1/namespaces/bench/" + plural
	definition, object := widgetCRD(widgetGroup, plural, kind), widget(kind, "first", 1, 1)
	if _, err := c.Do(ctx, http.StatusCreated, http.MethodPost, crds, asJSON, definition); err != nil {
		return 0, err
	}
	for {
		code, answer, err := c.Try(ctx, http.MethodPost, path, asJSON, object)
		switch {
		case err != nil:
			return early, err
		case code == http.StatusCreated:
			return early, nil
		case code != http.StatusNotFound:
			return early, fmt.Errorf("POST %s: status %d: %.500s", path, code, answer)
		}
		early++
	}
}
