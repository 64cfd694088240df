package transcripts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// watch is an open watch; its frames are read by one goroutine, which ends with
// the response's body.
type watch struct {
	protobuf bool
	frames   chan []byte
	err      error // set before frames is closed
}

// open opens a watch that stays open until the test ends.
func (p *player) open(name string, e exchange) []string {
	ctx, cancel := context.WithCancel(p.t.Context())
	p.t.Cleanup(cancel)
	response, err := p.send(ctx, e)
	if err != nil {
		return []string{"no response: " + err.Error()}
	}
	lines := p.head(response, e)
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return append(append(lines, ""), strings.Split(p.body(response, e, body), "\n")...)
	}
	w := &watch{protobuf: isProtobuf(response.Header.Get("Content-Type")), frames: make(chan []byte)}
	p.watches[name] = w
	go func() {
		defer response.Body.Close()
		defer close(w.frames)
		w.err = w.read(ctx, response.Body)
	}()
	return lines
}

// read sends the frames on until the body ends.
func (w *watch) read(ctx context.Context, body io.ReadCloser) error {
	var next func() ([]byte, error)
	if w.protobuf {
		framer := protobuf.LengthDelimitedFramer.NewFrameReader(body)
		buffer := make([]byte, 1<<20)
		next = func() ([]byte, error) {
			n, err := framer.Read(buffer)
			return append([]byte(nil), buffer[:n]...), err
		}
	} else {
		decoder := json.NewDecoder(body)
		next = func() ([]byte, error) {
			var frame json.RawMessage
			err := decoder.Decode(&frame)
			return frame, err
		}
	}
	for {
		frame, err := next()
		if err != nil {
			return err
		}
		select {
		case w.frames <- frame:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// frames shows the next frames of a watch; count is a number, "end" or "bookmark".
// It leaves out bookmarks that were not requested, because their times vary.
func (p *player) frames(name, count string) []string {
	p.t.Helper()
	w := p.watches[name]
	if w == nil {
		p.t.Fatalf("no watch %s", name)
	}
	wanted, err := strconv.Atoi(count)
	toEnd := err != nil // also with "bookmark", which returns earlier
	var lines []string
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	for toEnd || wanted > 0 {
		select {
		case frame, ok := <-w.frames:
			if !ok && errors.Is(w.err, io.EOF) {
				return append(lines, "(end)")
			}
			if !ok {
				return append(lines, fmt.Sprintf("(broken: %v)", w.err))
			}
			shown, bookmark := p.frame(w, frame)
			if bookmark && count != "bookmark" {
				continue
			}
			lines = append(lines, strings.Split(shown, "\n")...)
			if bookmark {
				return lines
			}
			wanted--
		case <-ctx.Done():
			return append(lines, "(nothing)")
		}
	}
	return lines
}

// frame shows one frame, and says whether it is a bookmark and nothing else.
func (p *player) frame(w *watch, frame []byte) (shown string, bookmark bool) {
	if w.protobuf {
		frame = eventFromProtobuf(frame)
	}
	root, err := parseJSON(frame)
	if err != nil {
		return string(frame), false
	}
	bookmark = root.isBookmark() && root.field("object").field("metadata").field("annotations") == nil
	p.symbols.inJSON(root, false)
	return root.layout("", ""), bookmark
}
