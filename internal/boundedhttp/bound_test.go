package boundedhttp

import (
	"errors"
	"io"
	"net/http"
	"testing"
)

// TestLimitGrowsWithRequest checks that a large request may have a large response.
func TestLimitGrowsWithRequest(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		request, response int64
		refused           bool
	}{
		{request: -1, response: Floor},
		{request: 1, response: Floor},
		{request: 1, response: Floor + 1, refused: true},
		{request: Floor, response: Factor * Floor},
		{request: Floor, response: Factor*Floor + 1, refused: true},
	} {
		sent := roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{Body: io.NopCloser(io.LimitReader(zeros{}, test.response))}, nil
		})
		resp, err := Transport(sent).RoundTrip(&http.Request{ContentLength: test.request})
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if errors.Is(err, ErrTooLarge) != test.refused || n > test.response {
			t.Errorf("%+v: read %d bytes, error %v", test, n, err)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
