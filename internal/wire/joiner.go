package wire

import (
	"context"
	"net/http"
)

// Joiner is a connection that can be told that the next thing written to it is followed at once by another, so that both may be
// sent together.
type Joiner interface{ Followed() }

type joinerKey struct{}

// WithJoiner returns the context of a connection's requests.
func WithJoiner(ctx context.Context, j Joiner) context.Context {
	return context.WithValue(ctx, joinerKey{}, j)
}

// followed tells the connection that the headers of an answer are followed by its body. HTTP/2 sends them separately, each with a
// system call and a turn of the client's, unless it is told; HTTP/1 sends what is small together.
func followed(req *http.Request, body []byte) {
	if req.ProtoMajor != 2 || req.Method == http.MethodHead || len(body) == 0 {
		return
	}
	if j, ok := req.Context().Value(joinerKey{}).(Joiner); ok {
		j.Followed()
	}
}
