package server

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// verbose is set when a client changes the verbosity of the running server.
var verbose atomic.Bool

// flagLog is the name of the logger of flags.
const flagLog = "flags"

// quietLog drops the log entries that a healthy server should not have, until the log is made verbose: those of
// quietRules, and informational ones of the text format, except for those about CRDs and flags. The libraries log the
// start of each controller at verbosity 0, which would hide the ready line, and log as errors what clients do. See
// docs/upstream.md, "Controllers log their start".
type quietLog struct {
	out io.Writer
	now func() time.Time

	mu sync.Mutex // guards warned
	// warned has the times of the last warnings, by webhook.
	warned map[string]time.Time
}

// warnInterval is the time between two warnings about one webhook. maxWarned bounds the webhooks that are remembered,
// and maxName their names.
const (
	warnInterval = time.Minute
	maxWarned    = 1000
	maxName      = 256
)

// Each of these is in every log entry of one logger. Values are quoted, so it is in no other entry.
var (
	fromDefinitions = []byte(` logger="` + definitionLog + `"`)
	fromFlags       = []byte(` logger="` + flagLog + `"`)
)

// Write writes one whole entry.
func (q *quietLog) Write(entry []byte) (int, error) {
	if !verbose.Load() {
		wanted := q.edit(entry)
		if wanted == nil {
			return len(entry), nil
		}
		if _, err := q.out.Write(wanted); err != nil {
			return 0, err
		}
		return len(entry), nil
	}
	return q.out.Write(entry)
}

// edit returns the entry to write; nil for none.
func (q *quietLog) edit(entry []byte) []byte {
	if len(entry) == 0 {
		return entry
	}
	if entry[0] == 'I' {
		if bytes.Contains(entry, fromDefinitions) || bytes.Contains(entry, fromFlags) {
			return entry
		}
		return nil
	}
	message, cause := described(entry)
	for n := range quietRules {
		if r := &quietRules[n]; r.matches(entry, message, cause) {
			return q.apply(r, entry)
		}
	}
	return entry
}

// apply returns what a rule leaves of an entry. An error that becomes a warning begins with another letter.
func (q *quietLog) apply(r *rule, entry []byte) []byte {
	if !r.limited {
		return nil
	}
	key := r.message
	if r.name != "" {
		_, key, _ = strings.Cut(string(entry), r.name)
		key, _, _ = strings.Cut(key, ": ")
		key = r.name + key[:min(len(key), maxName)]
	}
	if q.warnedRecently(key) {
		return nil
	}
	if entry[0] == 'E' {
		entry = append([]byte{'W'}, entry[1:]...)
	}
	return entry
}

func (q *quietLog) warnedRecently(key string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	if last, known := q.warned[key]; known && now.Sub(last) < warnInterval {
		return true
	}
	if q.warned == nil || len(q.warned) >= maxWarned {
		q.warned = map[string]time.Time{}
	}
	q.warned[key] = now
	return false
}
