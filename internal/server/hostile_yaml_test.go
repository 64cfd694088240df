//go:build !library && !race

package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHostileResponsesInYAML checks that a response as YAML keeps to the budget of its object: 64 MiB, and 32 times its
// size. It is JSON, which is YAML too, if YAML would take more.
func TestHostileResponsesInYAML(t *testing.T) {
	handler := hostileServer(t)
	for _, test := range []struct {
		name, fields string
		asJSON       bool
	}{
		{"many texts", `"free":{"a":[` + list(`"x"`, 100_000) + `]}`, false},
		{"many numbers", `"free":{"a":[` + list(`1`, 400_000) + `]}`, true},
		{"empty lists", `"free":{"a":[` + list(`[]`, 249_000) + `]}`, true},
		{"deep items", `"free":` + strings.Repeat(`{"a":`, 900) + `[` + list(`1`, 20_000) + `]` + strings.Repeat("}", 900),
			true},
	} {
		t.Run(test.name, func(t *testing.T) { // one by one, because the heap is that of the process
			body := hostileObject("new", test.fields)
			created := httptest.NewRecorder()
			handler.ServeHTTP(created, hostileRequest{"", "POST", "application/json", body}.request(t.Context(), ""))
			if created.Code != http.StatusCreated {
				t.Fatal(created.Code, created.Body)
			}
			defer served(t, handler, "DELETE", hostilePath+"/new", "")
			for _, path := range []string{hostilePath + "/new", hostilePath} {
				budget := uint64(64<<20 + 32*len(body))
				req := httptest.NewRequest("GET", path, nil).WithContext(asOwnRequest(t.Context()))
				req.Header.Set("Accept", "application/yaml")
				w := httptest.NewRecorder()
				live := peakHeap(budget, func() { handler.ServeHTTP(w, req) })
				t.Logf("%d bytes: %d with %d bytes, %d of %d MiB", len(body), w.Code, w.Body.Len(), live>>20, budget>>20)
				if live > budget {
					t.Errorf("an object of %d KiB took %d MiB of %d", len(body)>>10, live>>20, budget>>20)
				}
				if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/yaml" ||
					strings.HasPrefix(w.Body.String(), "{") != test.asJSON {
					t.Errorf("%d %s %.300s", w.Code, w.Header(), w.Body)
				}
			}
		})
	}
}
