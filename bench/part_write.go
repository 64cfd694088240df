package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// Rows of the parts write and delete.
var (
	rowUpdate    = Work{"write", "update (GET + PUT)", MicrosCPU, Target{700, 5}}
	rowPatch     = Work{"write", "merge patch", MicrosCPU, Target{600, 5}}
	rowStatus    = Work{"write", "status merge patch", MicrosCPU, Target{600, 5}}
	rowApply     = Work{"write", "server-side apply, changed", MicrosCPU, Target{1000, 4}}
	rowApplySame = Work{"write", "server-side apply, no change", MicrosCPU, Target{600, 7}}
	rowRejected  = Work{"write", "rejected by CEL (422)", MicrosCPU, Target{500, 5}}
	rowDelete    = Work{"delete", "delete", MicrosCPU, Target{450, 5}}
)

// applied is the number of objects that are applied to, few enough for a first apply before measurements.
const applied = 1000

// reapplied is the number of objects that are applied repeatedly without a change, as controllers do.
const reapplied = 100

// write updates objects. No two requests update the same object at once.
func (b *Bench) write(ctx context.Context, s *Server) error {
	path := func(i int) string { return widgets + "/" + widgetName(i%b.Objects) }
	// Every write changes its object.
	replicas := func(i int) int { return 20 + i/b.Objects%100 + i%100 }
	send := func(code int, method, suffix, mediaType string, body func(i int) []byte) func(context.Context, *Client,
		int) error {
		return func(ctx context.Context, c *Client, i int) error {
			_, err := c.Do(ctx, code, method, path(i)+suffix, mediaType, body(i))
			return err
		}
	}
	apply := func(base int) func(context.Context, *Client, int) error {
		return func(ctx context.Context, c *Client, i int) error {
			number := i % min(applied, b.Objects)
			body := widget("Widget", widgetName(number), number, base+i/applied)
			_, err := c.Do(ctx, http.StatusOK, http.MethodPatch, path(number)+"?fieldManager=applier&force=true", asApply, body)
			return err
		}
	}
	// Applies the last configuration again. The first apply of a manager costs more than later ones.
	applyAll := func() error {
		_, err := Load{For: startTimeout, Count: applied, Op: apply(300)}.run(ctx, s)
		return err
	}
	type row struct {
		work Work
		op   func(context.Context, *Client, int) error
	}
	rows := []row{
		{rowApplySame, func(ctx context.Context, c *Client, i int) error { return apply(300)(ctx, c, i%reapplied) }},
		{rowApply, apply(301)},
		{rowUpdate, func(ctx context.Context, c *Client, i int) error { return update(ctx, c, path(i)) }},
		{rowPatch, send(http.StatusOK, http.MethodPatch, "", asMergePatch, func(i int) []byte {
			return fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, 1000+replicas(i))
		})},
		{rowStatus, send(http.StatusOK, http.MethodPatch, "/status", asMergePatch, func(i int) []byte {
			return fmt.Appendf(nil, `{"status":{"replicas":%d,"phase":"Running","selector":"app=widget","conditions":[`+
				`{"type":"Ready","status":"True","reason":"AllReady","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`, replicas(i))
		})},
		{rowRejected, send(http.StatusUnprocessableEntity, http.MethodPatch, "", asMergePatch, func(i int) []byte {
			return fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, maxReplicas+replicas(i))
		})},
	}
	if err := applyAll(); err != nil {
		return err
	}
	for _, row := range rows {
		if err := b.load(ctx, s, row.work, Load{Op: row.op}); err != nil {
			return err
		}
	}
	rows = append(rows, row{rowCreate, func(ctx context.Context, c *Client, i int) error {
		_, err := c.Do(ctx, http.StatusCreated, http.MethodPost, widgets, asJSON,
			widget("Widget", widgetName(b.Objects+i), i, 1))
		return err
	}})
	// The same with other numbers of clients. i continues, so that every write changes its object.
	for turn, clients := range []int{1, 64} {
		if err := applyAll(); err != nil {
			return err
		}
		for _, row := range rows {
			l := Load{Clients: clients, For: b.Load / 2, Op: row.op, First: (turn + 1) * 7 * b.Objects}
			if err := b.load(ctx, s, row.work.with(clients), l); err != nil {
				return err
			}
		}
	}
	return nil
}

// update reads an object, increments its replicas, and writes it back.
func update(ctx context.Context, c *Client, path string) error {
	answer, err := c.Get(ctx, path)
	if err != nil {
		return err
	}
	field := []byte(`"replicas":`) // the first one is the spec's; those in managedFields begin with "f:
	before, after, found := bytes.Cut(answer, field)
	end := bytes.IndexAny(after, ",}")
	if !found || end < 0 {
		return errors.New("an object has no replicas")
	}
	old, err := strconv.Atoi(string(after[:end]))
	if err != nil {
		return err
	}
	body := make([]byte, 0, len(answer)+8)
	body = append(append(body, before...), field...)
	body = strconv.AppendInt(body, int64(old+1), 10)
	body = append(body, after[end:]...)
	_, err = c.Do(ctx, http.StatusOK, http.MethodPut, path, asJSON, body)
	return err
}

// delete deletes objects, from the last one on.
func (b *Bench) delete(ctx context.Context, s *Server) error {
	return b.load(ctx, s, rowDelete, Load{Count: b.Objects, Op: func(ctx context.Context, c *Client, i int) error {
		_, err := c.Do(ctx, http.StatusOK, http.MethodDelete, widgets+"/"+widgetName(b.Objects-1-i), "", nil)
		return err
	}})
}
