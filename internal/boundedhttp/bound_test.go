package answers

import (
	"errors"
	"io"
	"net/http"
	"testing"
)

// TestAnswersAreBoundedByQuestions holds that a large question may have a large answer.
func TestAnswersAreBoundedByQuestions(t *testing.T) {
	for _, test := range []struct {
		question, answer int64
		refused          bool
	}{
		{question: -1, answer: Floor},
		{question: 1, answer: Floor},
		{question: 1, answer: Floor + 1, refused: true},
		{question: Floor, answer: Factor * Floor},
		{question: Floor, answer: Factor*Floor + 1, refused: true},
	} {
		sent := roundTrip(func(*http.Request) (*http.Response, error) {
			return &http.Response{Body: io.NopCloser(io.LimitReader(zeros{}, test.answer))}, nil
		})
		resp, err := Transport(sent).RoundTrip(&http.Request{ContentLength: test.question})
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if errors.Is(err, ErrTooLarge) != test.refused || n > test.answer {
			t.Errorf("%+v: read %d bytes, error %v", test, n, err)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
