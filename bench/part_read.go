package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"
)

// Rows of the parts get, list and memory.
var (
	rowGet      = Work{"get", "GET one, consistent, 16 clients", MicrosCPU, Target{90, 8}}
	rowGetAny   = Work{"get", "GET one, resourceVersion=0, 16 clients", MicrosCPU, Target{75, 4}}
	rowList     = Work{"list", "list 10,000 objects (23 MB)", MillisCPU, Target{45, 19}}
	rowListPage = Work{"list", "list first page, limit=500", MillisCPU, Target{3, 14}}
	rowListSome = Work{"list", "list by label, 1% match", MillisCPU, Target{0.8, 20}}
	rowListAll  = Work{"list", "list all in pages of 500", MillisCPU, Target{60, 14}}
	rowPeak     = Work{"memory", "peak memory, 20 such lists at once", Megabytes, Target{200, 20}}
)

// get reads objects in random order.
func (b *Bench) get(ctx context.Context, s *Server) error {
	for _, row := range []struct {
		work  Work
		query string
	}{{rowGet, ""}, {rowGetAny, "?resourceVersion=0"}} {
		err := b.load(ctx, s, row.work, Load{Op: func(ctx context.Context, c *Client, i int) error {
			_, err := c.Get(ctx, widgets+"/"+widgetName(i*7919%b.Objects)+row.query)
			return err
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// list lists all objects, one request at a time.
func (b *Bench) list(ctx context.Context, s *Server) error {
	if err := b.checkList(ctx, s); err != nil {
		return err
	}
	drain := func(path string) func(context.Context, *Client, int) error {
		return func(ctx context.Context, c *Client, _ int) error {
			_, err := c.Drain(ctx, path)
			return err
		}
	}
	for _, row := range []struct {
		work Work
		op   func(context.Context, *Client, int) error
	}{
		{rowList, drain(allWidgets)},
		{rowListPage, drain(allWidgets + "?limit=500")},
		{rowListSome, drain(allWidgets + "?labelSelector=shard%3Ds7")},
		{rowListAll, func(ctx context.Context, c *Client, _ int) error { return listPages(ctx, c, b.Objects) }},
	} {
		if err := b.load(ctx, s, row.work, Load{Clients: 1, Op: row.op}); err != nil {
			return err
		}
	}
	return nil
}

// checkList checks that a list is complete, and returns its size.
func (b *Bench) checkList(ctx context.Context, s *Server) error {
	answer, err := s.Client().Get(ctx, allWidgets)
	if err != nil {
		return err
	}
	sent := len(answer)
	if answer, err = unpack(answer); err != nil {
		return err
	}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(answer, &list); err != nil {
		return err
	}
	if len(list.Items) != b.Objects {
		return fmt.Errorf("a list has %d objects, not %d", len(list.Items), b.Objects)
	}
	b.Results.Note(rowList, s.Kind, "%.1f MB, %.1f MB as sent, %d bytes an object",
		float64(len(answer))/1e6, float64(sent)/1e6, len(answer)/len(list.Items))
	return nil
}

// unpack decompresses gzip.
func unpack(answer []byte) ([]byte, error) {
	if !bytes.HasPrefix(answer, []byte{0x1f, 0x8b}) {
		return answer, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(answer))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

// listPages lists everything, page by page.
func listPages(ctx context.Context, c *Client, objects int) error {
	token, pages := "", 0
	for {
		path := allWidgets + "?limit=500"
		if token != "" {
			path += "&continue=" + url.QueryEscape(token)
		}
		answer, err := c.Get(ctx, path)
		if err != nil {
			return err
		}
		pages++
		if token, err = continueToken(answer); err != nil {
			return err
		}
		if token == "" {
			break
		}
	}
	if expected := (objects + 499) / 500; pages != expected {
		return fmt.Errorf("%d pages, not %d", pages, expected)
	}
	return nil
}

// continueToken finds the continue token of a page without decoding it. The metadata of the list comes before or
// after the items, depending on the server.
func continueToken(page []byte) (string, error) {
	page, err := unpack(page)
	if err != nil {
		return "", err
	}
	const enough = 4096
	for _, part := range [][]byte{page[:min(enough, len(page))], page[max(0, len(page)-enough):]} {
		if _, after, found := bytes.Cut(part, []byte(`"continue":"`)); found {
			token, _, _ := bytes.Cut(after, []byte(`"`))
			return string(token), nil
		}
	}
	return "", nil
}

// manyLists sends twenty lists at once and reads the responses as fast as possible.
func (b *Bench) manyLists(ctx context.Context, s *Server) error {
	b.progress(rowPeak.Part, rowPeak.Name, s.Kind)
	stop := watchPeak(s.Pid())
	const lists = 20
	var (
		readers sync.WaitGroup
		errs    = make([]error, lists)
	)
	for i := range lists {
		readers.Go(func() {
			c, err := s.NewClient()
			if err != nil {
				errs[i] = err
				return
			}
			defer c.Close()
			_, errs[i] = c.Drain(ctx, allWidgets)
		})
	}
	readers.Wait()
	peak, err := stop()
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	return b.put(ctx, s, rowPeak, peak)
}
