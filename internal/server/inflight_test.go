package server

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

const (
	crowdedReads, crowdedWrites = 40, 20
	crowdedThings               = "/apis/example.com/v1/namespaces/default/things"
)

// crowd is a server whose requests for "slow" things last as long as the test wants them to.
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

// end lets all go.
func (c *crowd) end() {
	select {
	case <-c.leave:
	default:
		close(c.leave)
	}
	c.flooding.Wait()
}

// flood has a user send a number of slow requests at one time, and returns how many are served. All others are refused.
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

// TestUsersAreToldApart floods the server with the requests of some users. Others are served all the time.
func TestUsersAreToldApart(t *testing.T) {
	for _, kind := range []struct {
		method, other string
		limit         int
	}{{"GET", "POST", crowdedReads}, {"DELETE", "GET", crowdedWrites}} {
		t.Run(kind.method, func(t *testing.T) {
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
					t.Errorf("what is not flooded with answers %d %s", got.code, got.body)
				}
			}
			for n := range kind.limit { // the last seats
				flooder, _ := c.as(fmt.Sprint("user", n))
				c.flood(t, flooder, kind.method, "", 1)
			}
			if got := do(t, modest, kind.method, url+crowdedThings+"/one"); got.code != http.StatusTooManyRequests {
				t.Errorf("a full server answers %d %s", got.code, got.body)
			}
			if got := do(t, root, kind.method, url+crowdedThings+"/one"); got.code != http.StatusOK {
				t.Errorf("who may do everything gets %d %s", got.code, got.body)
			}
			if got := do(t, stranger, "GET", url+"/readyz"); got.code != http.StatusOK {
				t.Errorf("a probe gets %d %s", got.code, got.body)
			}
			c.end()
			if got := do(t, modest, kind.method, url+crowdedThings+"/one"); got.code != http.StatusOK {
				t.Errorf("after all that %d %s is answered", got.code, got.body)
			}
		})
	}
}

// TestTooManyRequests looks at the order of refusals: 401, 429, 403.
func TestTooManyRequests(t *testing.T) {
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

// TestWidth holds that who lists, or brings, much takes more seats.
func TestWidth(t *testing.T) {
	f := newInFlight(&RequestOptions{MaxInFlight: 400, MaxMutatingInFlight: 200}, func(group, plural string) (int, int64) {
		switch plural {
		case "cold":
			return -1, -1
		case "large":
			return 1000, 25 * bytesPerSeat
		}
		return 0, 0
	}, nil)
	for _, test := range []struct {
		method, path string
		body         int
		want         int
	}{
		{"GET", "large/one", 0, 1},
		{"GET", "large", 0, 20},
		{"GET", "large?labelSelector=a%3Db", 0, 20},
		{"GET", "large?limit=500&continue=x", 0, 13},
		{"GET", "large?limit=5000", 0, 20},
		{"GET", "large?limit=-1", 0, 20},
		{"GET", "large?fieldSelector=metadata.name%3Done", 0, 1},
		{"GET", "cold", 0, 20},
		{"GET", "unknown", 0, 1},
		{"DELETE", "large", 0, 1},
		{"POST", "large", 1000, 1},
		{"PUT", "large/one", 3 << 20, 10},
		{"PATCH", "large/one", 250_000, 3},
		{"POST", "large", -1, 10},
	} {
		req := httptest.NewRequest(test.method, "/apis/example.com/v1/namespaces/default/"+test.path, nil)
		req.ContentLength = int64(test.body)
		info, err := requestInfo.NewRequestInfo(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, got := f.ask(req, info); got != test.want {
			t.Errorf("%s %s with %d bytes takes %d seats, should take %d", test.method, test.path, test.body, got, test.want)
		}
	}
}

// BenchmarkInFlight measures the filter alone.
func BenchmarkInFlight(b *testing.B) {
	o := NewOptions()
	handler := newInFlight(&o.Requests, nil, nil).limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		req := httptest.NewRequest("GET", crowdedThings+"/one", nil)
		info, err := requestInfo.NewRequestInfo(req)
		if err != nil {
			b.Fatal(err)
		}
		ctx := request.WithUser(request.WithRequestInfo(b.Context(), info), &user.DefaultInfo{Name: "jane", Groups: []string{"system:authenticated"}})
		req = req.WithContext(ctx)
		w := &discarding{header: http.Header{}}
		for pb.Next() {
			handler.ServeHTTP(w, req)
		}
	})
}
