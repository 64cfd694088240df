package wire

import (
	"context"
	"net/http"
)

// Follower is a connection that can be told that the next thing written to it is followed at once by another, so that both may be
// sent together.
type Follower interface{ Followed() }

type followerKey struct{}

// WithFollower returns the context of a connection's requests.
func WithFollower(ctx context.Context, f Follower) context.Context {
	return context.WithValue(ctx, followerKey{}, f)
}

// followed tells the connection that the headers of an answer are followed by its body. HTTP/2 sends them separately, each with a
// system call and a turn of the client's, unless it is told; HTTP/1 sends what is small together.
func followed(req *http.Request, body []byte) {
	if req.ProtoMajor != 2 || req.Method == http.MethodHead || len(body) == 0 {
		return
	}
	if f, ok := req.Context().Value(followerKey{}).(Follower); ok {
		f.Followed()
	}
}
