package fault

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// probes are the requests of a polite user during an overload.
type probes struct {
	// Health requests /readyz ten times a second, each time on a new connection, as a kubelet does.
	Health answers
	// Reads and Writes are four and two requests a second of a polite user.
	Reads, Writes answers
}

// answers counts the responses to one kind of request.
type answers struct {
	Asked, Unanswered, Failed, Refused int
	// Slowest is the longest time from connecting to the end of the response.
	Slowest time.Duration
	// Fault is the first failure.
	Fault string
}

func (a answers) String() string {
	return fmt.Sprintf("%d questions, %d refused, %d failed, %d not answered%s, slowest %s", a.Asked, a.Refused,
		a.Failed, a.Unanswered, a.Fault, a.Slowest.Round(time.Millisecond))
}

// polite is the polite user, politeCell its object.
const (
	polite     = "polite"
	politeCell = cells + "/cell-0000"
)

// probe sends requests until the context ends.
func probe(ctx context.Context, w task) (any, error) {
	user, err := connectTo(w.URL, w.Kubeconfig)
	if err != nil {
		return nil, err
	}
	health, err := connectTo(w.URL, w.Kubeconfig)
	if err != nil {
		return nil, err
	}
	var (
		p      probes
		asking sync.WaitGroup
	)
	asking.Go(func() { p.Health.askHealth(ctx, health) })
	asking.Go(func() {
		p.Reads.ask(ctx, 250*time.Millisecond, func() (*http.Response, error) {
			return user.openAs(ctx, polite, http.MethodGet, politeCell, "", nil)
		})
	})
	asking.Go(func() {
		p.Writes.ask(ctx, 500*time.Millisecond, func() (*http.Response, error) {
			return user.openAs(ctx, polite, http.MethodPatch, politeCell, asMergePatch,
				fmt.Appendf(nil, `{"spec":{"value":"%d"}}`, p.Writes.Asked))
		})
	})
	asking.Wait()
	return &p, nil
}

// probeHealth sends health checks until the context ends.
func probeHealth(ctx context.Context, w task) (any, error) {
	health, err := connectTo(w.URL, w.Kubeconfig)
	if err != nil {
		return nil, err
	}
	var a answers
	a.askHealth(ctx, health)
	return &a, nil
}

// askHealth sends health checks until the context ends, each on a new connection.
func (a *answers) askHealth(ctx context.Context, c *client) {
	c.http.Transport.(*http.Transport).DisableKeepAlives = true
	a.ask(ctx, 100*time.Millisecond, func() (*http.Response, error) {
		return c.open(ctx, http.MethodGet, "/readyz", "", nil)
	})
}

// ask sends requests, with a pause after each response, until the context ends.
func (a *answers) ask(ctx context.Context, every time.Duration, send func() (*http.Response, error)) {
	for ; ctx.Err() == nil; pause(ctx, every) {
		began := time.Now()
		resp, err := send()
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if ctx.Err() != nil {
			return
		}
		a.Asked++
		a.Slowest = max(a.Slowest, time.Since(began))
		switch {
		case err != nil:
			a.Unanswered++
			a.fault(err.Error())
		case resp.StatusCode == http.StatusTooManyRequests:
			a.Refused++
		case resp.StatusCode != http.StatusOK:
			a.Failed++
			a.fault(resp.Status)
		}
	}
}

func (a *answers) fault(why string) {
	if a.Fault == "" {
		a.Fault = " (" + why + ")"
	}
}
