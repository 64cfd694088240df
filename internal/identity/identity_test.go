package identity

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// TestOf compares the identity with one that kube-apiserver 1.37.2 has.
func TestOf(t *testing.T) {
	t.Parallel()
	if got := Of("vm"); got != "apiserver-wlv32tlttr4jl3gtroqexyxapa" {
		t.Errorf("got %s", got)
	}
}

func TestExpired(t *testing.T) {
	t.Parallel()
	now := time.Now()
	spec := func(renewed time.Time, seconds int32) coordinationv1.LeaseSpec {
		return coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: renewed}, LeaseDurationSeconds: &seconds}
	}
	for name, test := range map[string]struct {
		spec coordinationv1.LeaseSpec
		want bool
	}{
		"renewed":       {spec(now, 10), false},
		"abandoned":     {spec(now.Add(-11*time.Second), 10), true},
		"never renewed": {coordinationv1.LeaseSpec{LeaseDurationSeconds: new(int32)}, true},
		"no duration":   {coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: now}}, true},
	} {
		if got := expired(&coordinationv1.Lease{Spec: test.spec}, now); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestEnd ends a controller while it deletes the Lease of the server before it. The server does not answer, as one that
// is about to end may not. Run must not wait for it, and the last request deletes the Lease.
func TestEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var requests []string
		server := roundTripper(func(req *http.Request) (*http.Response, error) {
			requests = append(requests, req.Method)
			if len(requests) == 1 {
				<-req.Context().Done()
			}
			if err := req.Context().Err(); err != nil {
				return nil, err
			}
			return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: http.NoBody}, nil
		})
		c, err := New(&rest.Config{Host: "https://in-process", Transport: server, QPS: -1}, "")
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.Run(ctx)
		}()
		synctest.Wait()
		cancel()
		<-ended
		if took := time.Since(begin); took > 0 {
			t.Errorf("ended after %s", took)
		}
		if len(requests) < 2 || requests[len(requests)-1] != http.MethodDelete {
			t.Errorf("the requests are %s", requests)
		}
	})
}

// roundTripper answers requests.
type roundTripper func(req *http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }
