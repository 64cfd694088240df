package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// objectSize is the size of the object in bytes, about that of the object rows.
const objectSize = 2340

// handler serves the object under any name, and its changes.
type handler struct {
	mu sync.Mutex // guards all below
	// events are all events: a run is short.
	events [][]byte
	object []byte
	// changed is closed, and replaced, by each change.
	changed chan struct{}
}

func newHandler() http.Handler {
	h := &handler{object: object("", 0), changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		h.send(w)
	})
	mux.HandleFunc("PATCH /", h.change)
	mux.HandleFunc("GET /", func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Query().Get("watch") == "true" {
			h.watch(req.Context(), w)
			return
		}
		h.send(w)
	})
	return mux
}

// object returns JSON with the fields that bench reads, and the size of objects of other servers.
func object(change string, revision int) []byte {
	known := fmt.Sprintf(`{"metadata":{"resourceVersion":"%d","annotations":{"change":"#%s#"}},"padding":""}`, revision,
		change)
	return []byte(strings.TrimSuffix(known, `"}`) + strings.Repeat("x", max(0, objectSize-len(known))) + `"}`)
}

func (h *handler) send(w http.ResponseWriter) {
	h.mu.Lock()
	body := h.object
	h.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // fails if the client has closed the connection
}

// change adds an event for a patch.
func (h *handler) change(w http.ResponseWriter, req *http.Request) {
	patch, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, after, _ := bytes.Cut(patch, []byte(`"change":"#`))
	change, _, _ := bytes.Cut(after, []byte("#"))
	h.mu.Lock()
	h.object = object(string(change), len(h.events)+1)
	h.events = append(h.events, fmt.Appendf(nil, `{"type":"MODIFIED","object":%s}`+"\n", h.object))
	close(h.changed)
	h.changed = make(chan struct{})
	h.mu.Unlock()
	h.send(w)
}

// watch sends events from now on. It flushes once for all that have come since the last flush.
func (h *handler) watch(ctx context.Context, w http.ResponseWriter) {
	h.mu.Lock()
	seen := len(h.events)
	h.mu.Unlock()
	controller := http.NewResponseController(w)
	for controller.Flush() == nil {
		events, err := h.after(ctx, seen)
		if err != nil {
			return
		}
		seen += len(events)
		if _, err := w.Write(bytes.Join(events, nil)); err != nil {
			return
		}
	}
}

// after waits for further events and returns them.
func (h *handler) after(ctx context.Context, seen int) ([][]byte, error) {
	for {
		h.mu.Lock()
		events, changed := h.events[seen:], h.changed
		h.mu.Unlock()
		if len(events) > 0 {
			return events, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
