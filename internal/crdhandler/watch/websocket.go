package watch

import (
	"context"
	"net/http"

	"golang.org/x/net/websocket"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// serveWebSocket serves the watch over a websocket.
func (s *session) serveWebSocket(ctx context.Context, w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", s.encoder.mediaType)
	websocket.Handler(func(conn *websocket.Conn) {
		defer conn.Close()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			// The client has nothing to say, but reading notices when it goes away. Ends when conn is closed.
			defer cancel()
			wsstream.IgnoreReceivesWithLogger(klog.FromContext(ctx), conn, 0)
		}()
		s.stream = &socketStream{conn: conn, text: s.encoder.text}
		err := s.open(ctx)
		defer s.close()
		s.run(ctx, err)
	}).ServeHTTP(w, req)
}

// socketStream sends each frame as a message of a websocket.
type socketStream struct {
	conn *websocket.Conn
	text bool
}

var _ stream = &socketStream{}

func (s *socketStream) write(frame []byte) error {
	if s.text {
		return clientGone(websocket.Message.Send(s.conn, string(frame)))
	}
	return clientGone(websocket.Message.Send(s.conn, frame))
}

func (s *socketStream) flush() error { return nil }
