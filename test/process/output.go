package process

import (
	"bytes"
	"strings"
	"sync"
)

// keepBytes is how much of a server's output is kept for error messages.
const keepBytes = 256 << 10

// output keeps the last part of what a server prints, and closes seen once a line contains the marker.
type output struct {
	marker string
	// seen is closed when a line with the marker is complete.
	seen chan struct{}

	mu sync.Mutex // guards the fields below
	// kept holds the newest bytes, at most 2*keepBytes.
	kept bytes.Buffer
	// line holds what has been printed since the last line end.
	line []byte
	// found is the line with the marker, "" until then.
	found string
}

func newOutput(marker string) *output {
	return &output{marker: marker, seen: make(chan struct{})}
}

// Write implements io.Writer; it never fails, so a server is never blocked by its reader.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept.Write(p)
	if over := o.kept.Len() - keepBytes; over > keepBytes {
		o.kept.Next(over)
	}
	if o.found == "" {
		o.scanLocked(p)
	}
	return len(p), nil
}

func (o *output) scanLocked(p []byte) {
	o.line = append(o.line, p...)
	for {
		line, rest, complete := bytes.Cut(o.line, []byte("\n"))
		if !complete {
			return
		}
		o.line = rest
		if strings.Contains(string(line), o.marker) {
			o.found, o.line = string(line), nil
			close(o.seen)
			return
		}
	}
}

// String returns what is kept.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept.String()
}

// foundLine returns the line with the marker, or "" if it has not been printed.
func (o *output) foundLine() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.found
}
