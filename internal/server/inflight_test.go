package server

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

const (
	crowdedReads, crowdedWrites = 40, 20
	crowdedThings               = "/apis/example.com/v1/namespaces/default/things"
)

// crowd is a server on which requests for "slow" things last until the test ends them.
type crowd struct {
	*testServer
	entered, leave chan struct{}
	flooding       sync.WaitGroup
}

func newCrowd(t *testing.T, change func(*Options)) *crowd {
	t.Helper()
	c := &crowd{entered: make(chan struct{}), leave: make(chan struct{})}
	c.testServer = start(t, http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/slow") {
			c.entered <- struct{}{}
			<-c.leave
		}
	}), func(o *Options) {
		o.Authorization.Modes = []string{"AlwaysAllow"}
		o.Requests.MaxInFlight, o.Requests.MaxMutatingInFlight = crowdedReads, crowdedWrites
		if change != nil {
			change(o)
		}
	})
	t.Cleanup(c.end) // before the server is stopped, which waits for requests
	return c
}

// end ends all slow requests and waits for them.
func (c *crowd) end() {
	select {
	case <-c.leave:
	default:
		close(c.leave)
	}
	c.flooding.Wait()
}

// flood sends slow requests of one user at the same time. It returns the number of served ones, and checks the refusals
// of all others.
func (c *crowd) flood(t *testing.T, client *http.Client, method, body string, requests int) (served int) {
	t.Helper()
	url := c.admin().Host + crowdedThings + "/slow"
	refused := make(chan answer, requests)
	for range requests {
		c.flooding.Go(func() {
			req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			response, err := client.Do(req)
			if err != nil {
				return // the test is over
			}
			defer response.Body.Close()
			_, _ = io.Copy(io.Discard, response.Body)
			if response.StatusCode != http.StatusOK {
				refused <- answer{code: response.StatusCode, header: response.Header}
			}
		})
	}
	for range requests {
		select {
		case <-c.entered:
			served++
		case got := <-refused:
			if got.code != http.StatusTooManyRequests || got.header.Get("Retry-After") != "1" {
				t.Errorf("refused with %d %v", got.code, got.header)
			}
		}
	}
	return served
}

// TestFairnessBetweenUsers checks that the server serves other users while some users send too many requests.
func TestFairnessBetweenUsers(t *testing.T) {
	t.Parallel()
	for _, kind := range []struct {
		method, other string
		limit         int
	}{{"GET", "POST", crowdedReads}, {"DELETE", "GET", crowdedWrites}} {
		t.Run(kind.method, func(t *testing.T) {
			t.Parallel()
			c := newCrowd(t, nil)
			modest, url := c.as("modest")
			root, _ := c.as("root", "system:masters")
			stranger, _ := c.as("")
			for _, greedy := range []string{"greedy", "greedier"} {
				client, _ := c.as(greedy)
				served := c.flood(t, client, kind.method, "", 10*kind.limit)
				if served == 0 || served > kind.limit*2/3 {
					t.Errorf("of %d requests of user %s %d are served", 10*kind.limit, greedy, served)
				}
				for range 20 {
					if got := do(t, modest, kind.method, url+crowdedThings+"/one"); got.code != http.StatusOK {
						t.Errorf("another user gets %d %s", got.code, got.body)
					}
				}
				if got := do(t, client, kind.other, url+crowdedThings+"/one"); got.code != http.StatusOK {
					t.Errorf("requests of the other kind get %d %s", got.code, got.body)
				}
			}
			for n := range kind.limit { // the last slots
				flooder, _ := c.as(fmt.Sprint("user", n))
				c.flood(t, flooder, kind.method, "", 1)
			}
			if got := do(t, modest, kind.method, url+crowdedThings+"/one"); got.code != http.StatusTooManyRequests {
				t.Errorf("a full server answers %d %s", got.code, got.body)
			}
			if got := do(t, root, kind.method, url+crowdedThings+"/one"); got.code != http.StatusOK {
				t.Errorf("the administrator gets %d %s", got.code, got.body)
			}
			if got := do(t, stranger, "GET", url+"/readyz"); got.code != http.StatusOK {
				t.Errorf("a probe gets %d %s", got.code, got.body)
			}
			c.end()
			if got := do(t, modest, kind.method, url+crowdedThings+"/one"); got.code != http.StatusOK {
				t.Errorf("afterwards a user gets %d %s", got.code, got.body)
			}
		})
	}
}

// TestOrderOfRefusals checks that the server authenticates a request before it counts it, and counts it before it
// authorizes it: 401, 429, 403.
func TestOrderOfRefusals(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, func(o *Options) {
		o.Authorization.Modes = nil
		o.Authorization.AlwaysAllowGroups = append(o.Authorization.AlwaysAllowGroups, "friends")
		o.Requests.MaxInFlight, o.Requests.MaxMutatingInFlight = 1, 0
	})
	jane, url := c.as("jane")
	peter, _ := c.as("peter", "friends")
	stranger, _ := c.as("")
	answers := func(client *http.Client, method string, code int) {
		t.Helper()
		if got := do(t, client, method, url+crowdedThings+"/one"); got.code != code {
			t.Errorf("got %d %s instead of %d", got.code, got.body, code)
		}
	}
	answers(jane, "GET", http.StatusForbidden)
	if served := c.flood(t, peter, "GET", "", 1); served != 1 {
		t.Fatal("the only request is refused")
	}
	answers(stranger, "GET", http.StatusUnauthorized)
	answers(jane, "GET", http.StatusTooManyRequests)
	if served := c.flood(t, peter, "DELETE", "", 2*crowdedWrites); served != 2*crowdedWrites {
		t.Errorf("without a limit %d of %d are served", served, 2*crowdedWrites)
	}
	c.end()
	answers(jane, "GET", http.StatusForbidden)
}
