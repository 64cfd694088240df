package fault

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	watchedCell = "cell-0001"
	// streams is the number of watches on a connection.
	streams = 250
	// eventsLimit bounds the wait for all events.
	eventsLimit = 3 * time.Minute
)

// watches opens many watches while an object changes. A tenth of them reads nothing; the others must get every event.
func (l *load) watches(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	idle, err := l.idleWatches(ctx, l.Number/10)
	for _, c := range idle {
		defer c.Close()
	}
	if err != nil {
		return err
	}
	var (
		watching, open sync.WaitGroup
		events         atomic.Int64
		reading        = l.Number - len(idle)
		c              *client
	)
	defer func() { cancel(); watching.Wait() }()
	for n := range reading {
		if n%streams == 0 {
			if c, err = connectTo(l.URL, l.Kubeconfig); err != nil {
				return err
			}
		}
		c := c
		open.Add(1)
		watching.Go(func() { l.watch(ctx, c, open.Done, &events) })
		if n%100 == 99 {
			open.Wait() // open at most 100 at the same time
		}
	}
	open.Wait()
	l.change(ctx)
	want := int64(reading) * int64(l.Changes+1)
	for began := time.Now(); events.Load() < want; pause(ctx, 20*time.Millisecond) {
		if time.Since(began) > eventsLimit || ctx.Err() != nil {
			l.fault("%d events were told of %d", events.Load(), want)
			break
		}
	}
	l.served.Store(events.Load())
	return nil
}

// watch counts events until the context ends. It calls open when the watch is open or has failed.
func (l *load) watch(ctx context.Context, c *client, open func(), events *atomic.Int64) {
	resp, err := c.openAs(ctx, greedy, http.MethodGet, cells+"?watch=1&fieldSelector=metadata.name%3D"+watchedCell, "",
		nil)
	open()
	if err != nil {
		l.fault("a watch: %v", err)
		return
	}
	defer resp.Body.Close()
	for lines := bufio.NewReader(resp.Body); ; {
		_, err := lines.ReadSlice('\n')
		switch {
		case err == nil:
			events.Add(1)
		case !errors.Is(err, bufio.ErrBufferFull):
			return
		}
	}
}

// idleWatches opens connections with one watch each and does not read them. The caller closes them, even after an
// error.
func (l *load) idleWatches(ctx context.Context, number int) (idle []net.Conn, err error) {
	for range number {
		c, err := l.dial(ctx)
		if err != nil {
			return idle, err
		}
		idle = append(idle, c)
		if _, err := fmt.Fprintf(c, "GET %s?watch=1 HTTP/1.1\r\nHost: x\r\nImpersonate-User: %s\r\n\r\n", cells,
			greedy); err != nil {
			return idle, err
		}
	}
	return idle, nil
}

// change changes the watched object.
func (l *load) change(ctx context.Context) {
	for n := range l.Changes {
		code, _, err := l.admin.do(ctx, http.MethodPatch, cells+"/"+watchedCell, asMergePatch,
			fmt.Appendf(nil, `{"spec":{"value":"%d%s"}}`, n, strings.Repeat("y", 1000)))
		if err != nil || code != http.StatusOK {
			l.fault("a write beside %d watches: %d %v", l.Number, code, err)
		}
		pause(ctx, 50*time.Millisecond)
	}
}
