package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// Rows of the part create.
var (
	rowCreate  = Work{"create", "create, 16 clients", MicrosCPU, Target{450, 4}}
	rowCreated = Work{"create", "memory with 10,000 objects, right after they were created", Megabytes, Target{90, 6}}
)

// create creates the CRD and all objects.
func (b *Bench) create(ctx context.Context, s *Server) error {
	if err := s.createWidgets(ctx); err != nil {
		return err
	}
	bodies := make([][]byte, b.Objects)
	for i := range bodies {
		bodies[i] = widget("Widget", widgetName(i), i, 1+i%10)
	}
	err := b.load(ctx, s, rowCreate, Load{For: 10 * time.Minute, Count: len(bodies),
		Op: func(ctx context.Context, c *Client, i int) error {
			_, err := c.Do(ctx, http.StatusCreated, http.MethodPost, widgets, asJSON, bodies[i])
			return err
		}})
	if err != nil {
		return err
	}
	return b.memory(ctx, s, rowCreated)
}

// createWidgets creates the CRD of the objects.
func (s *Server) createWidgets(ctx context.Context) error {
	definition := widgetCRD(widgetGroup, "widgets", "Widget")
	if _, err := s.Client().Do(ctx, http.StatusCreated, http.MethodPost, crds, asJSON, definition); err != nil {
		return err
	}
	return waitServed(ctx, s.Client(), allWidgets)
}

// waitServed waits until a resource can be listed.
func waitServed(ctx context.Context, c *Client, path string) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		code, answer, err := c.Try(ctx, http.MethodGet, path+"?limit=1", "", nil)
		if err != nil {
			return err
		}
		if code == http.StatusOK {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %d %.300s", path, code, answer)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
