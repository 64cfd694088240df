package wire

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

type countedJoiner int

func (j *countedJoiner) Followed() { *j++ }

// TestWriteBodyTellsTheConnection holds that only headers that are sent apart from a body, and before it, are told.
func TestWriteBodyTellsTheConnection(t *testing.T) {
	for name, tc := range map[string]struct {
		method string
		major  int
		body   string
		want   countedJoiner
	}{
		"HTTP/2":  {http.MethodGet, 2, "{}", 1},
		"HTTP/1":  {http.MethodGet, 1, "{}", 0},
		"HEAD":    {http.MethodHead, 2, "{}", 0},
		"no body": {http.MethodGet, 2, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var told countedJoiner
			req := httptest.NewRequest(tc.method, "/", nil)
			req.ProtoMajor = tc.major
			req = req.WithContext(WithJoiner(req.Context(), &told))
			if err := WriteBody(httptest.NewRecorder(), req, http.StatusOK, JSON, []byte(tc.body)); err != nil {
				t.Fatal(err)
			}
			if told != tc.want {
				t.Errorf("told %d times, want %d", told, tc.want)
			}
		})
	}
}
