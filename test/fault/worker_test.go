package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/crd-server/crd-server/test/process"
)

// worker sends one operation after the other to random replicas.
type worker struct {
	number   int
	random   *rand.Rand
	replicas []*replica
	history  *history
	writes   int
	// seen has the revision of each key in the last response.
	seen map[string]int64
}

// work sends operations for a while.
func (w *worker) work(ctx context.Context, d time.Duration) {
	w.seen = map[string]int64{}
	clients := map[*process.Server]*client{}
	for began := time.Now(); time.Since(began) < d && ctx.Err() == nil; pause(ctx, linearPace) {
		server := w.replicas[w.random.IntN(len(w.replicas))].server()
		if clients[server] == nil {
			c, err := connect(server)
			if err != nil {
				continue // it is starting
			}
			clients[server] = c
		}
		w.operate(ctx, clients[server])
	}
	for _, c := range clients {
		c.http.CloseIdleConnections()
	}
}

// operate does one operation and adds it to the history.
func (w *worker) operate(ctx context.Context, c *client) {
	actions := []action{create, create, update, update, patch, patch, apply, remove, get, get, get, list}
	o := &operation{client: w.number, action: actions[w.random.IntN(len(actions))],
		key: fmt.Sprintf("cell-%d", w.random.IntN(linearKeys))}
	if o.action == update && w.seen[o.key] == 0 {
		o.action = get
	}
	if o.action != get && o.action != list && o.action != remove {
		w.writes++
		o.value = fmt.Sprintf("%d-%d", w.number, w.writes)
	}
	o.begun = w.history.now()
	w.send(ctx, c, o)
	o.ended = w.history.now()
	w.history.add(o)
}

// send sends an operation and reads its response. The code is 0 if it is unknown whether a write was done.
func (w *worker) send(ctx context.Context, c *client, o *operation) {
	ctx, cancel := context.WithTimeout(ctx, linearTimeout)
	defer cancel()
	path := cells + "/" + o.key
	var (
		code   int
		answer []byte
		err    error
	)
	switch o.action {
	case list:
		o.items, o.revision, code, err = c.list(ctx)
		if err == nil && code == http.StatusOK {
			o.code = code
		}
		return
	case create:
		code, answer, err = c.do(ctx, http.MethodPost, cells, asJSON, body(o.key, o.value, 0))
	case update:
		o.condition = w.seen[o.key]
		code, answer, err = c.do(ctx, http.MethodPut, path, asJSON, body(o.key, o.value, o.condition))
	case patch:
		code, answer, err = c.do(ctx, http.MethodPatch, path, asMergePatch,
			fmt.Appendf(nil, `{"spec":{"value":"%s"}}`, o.value))
	case apply:
		code, answer, err = c.do(ctx, http.MethodPatch, path+"?fieldManager=fault&force=true", asApply,
			body(o.key, o.value, 0))
	case remove:
		code, answer, err = c.do(ctx, http.MethodDelete, path, "", nil)
	case get:
		code, answer, err = c.do(ctx, http.MethodGet, path, "", nil)
	}
	var found object
	switch {
	case err != nil:
	case code == http.StatusNotFound, code == http.StatusConflict && (o.action == create || o.action == update):
		o.code = code
	case code != http.StatusOK && code != http.StatusCreated:
	case o.action == remove:
		o.code = code
	case json.Unmarshal(answer, &found) != nil:
		o.code, o.value = code, fmt.Sprintf("no object: %.300s", answer)
	default:
		o.code, o.value, o.revision = code, found.Spec.Value, found.revision()
		w.seen[o.key] = o.revision
	}
}
