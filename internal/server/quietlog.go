package server

import (
	"bytes"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/klog/v2"
)

// flagLog is the name of the logger of flags.
const flagLog = "flags"

// quietLog drops the log entries that a healthy server should not have, until the log is made verbose: those of
// quietrules.yaml, and informational ones of the text format, except for those about CRDs and flags. The libraries log
// the start of each controller at verbosity 0, which would hide the ready line, and log as errors what clients do. See
// docs/upstream.md, "Controllers log their start".
type quietLog struct {
	out   io.Writer
	rules []rule
	// warned has the last warnings, by webhook.
	warned *cache.LRUExpireCache
}

// warnInterval is the time between two warnings about one webhook. maxWarned bounds the webhooks that are remembered,
// and maxName their names.
const (
	warnInterval = time.Minute
	maxWarned    = 1000
	maxName      = 256
)

// newQuietLog returns a quiet log that writes to out.
func newQuietLog(out io.Writer) *quietLog {
	return &quietLog{out: out, rules: readRules(), warned: cache.NewLRUExpireCache(maxWarned)}
}

// Each of these is in every log entry of one logger. Values are quoted, so it is in no other entry.
var (
	fromDefinitions = []byte(` logger="` + definitionLog + `"`)
	fromFlags       = []byte(` logger="` + flagLog + `"`)
)

// Write writes one whole entry.
func (q *quietLog) Write(entry []byte) (int, error) {
	wanted := entry
	if !klog.V(1).Enabled() {
		wanted = q.edit(entry)
	}
	if wanted == nil {
		return len(entry), nil
	}
	return q.out.Write(wanted) // of the same length
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
	for n := range q.rules {
		if r := &q.rules[n]; r.matches(entry, message, cause) {
			return q.apply(r, entry)
		}
	}
	return entry
}

// apply returns what a rule leaves of an entry. An error that becomes a warning begins with another letter.
func (q *quietLog) apply(r *rule, entry []byte) []byte {
	if !r.Limited {
		return nil
	}
	key := r.Message
	if r.Name != "" {
		_, key, _ = strings.Cut(string(entry), r.Name)
		key, _, _ = strings.Cut(key, ": ")
		key = r.Name + key[:min(len(key), maxName)]
	}
	if _, recently := q.warned.Get(key); recently {
		return nil
	}
	q.warned.Add(key, nil, warnInterval)
	if entry[0] == 'E' {
		entry = append([]byte{'W'}, entry[1:]...)
	}
	return entry
}
