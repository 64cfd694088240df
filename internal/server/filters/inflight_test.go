package filters

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// TestCost checks that large lists and large bodies take more slots.
func TestCost(t *testing.T) {
	t.Parallel()
	f := newInFlight(&Config{MaxInFlight: 400, MaxMutatingInFlight: 200, Sizes: func(group, plural string) (int, int64) {
		switch plural {
		case "cold":
			return -1, -1
		case "large":
			return 1000, 25 * bytesPerSlot
		}
		return 0, 0
	}})
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
		if _, got := f.cost(req, info); got != test.want {
			t.Errorf("%s %s with %d bytes takes %d slots, want %d", test.method, test.path, test.body, got, test.want)
		}
	}
}

// BenchmarkInFlight measures the filter alone.
func BenchmarkInFlight(b *testing.B) {
	handler := newInFlight(&Config{MaxInFlight: 400,
		MaxMutatingInFlight: 200}).limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}))
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		req := httptest.NewRequest("GET", "/apis/example.com/v1/namespaces/default/things/one", nil)
		info, err := requestInfo.NewRequestInfo(req)
		if err != nil {
			b.Fatal(err)
		}
		ctx := request.WithUser(request.WithRequestInfo(b.Context(), info),
			&user.DefaultInfo{Name: "jane", Groups: []string{"system:authenticated"}})
		req = req.WithContext(ctx)
		w := httptest.NewRecorder()
		for pb.Next() {
			handler.ServeHTTP(w, req)
		}
	})
}
