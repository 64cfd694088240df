package crdhandler

import (
	"bytes"
	"sync"
	"sync/atomic"
	"weak"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// sharedFrames has the recent frames of a version in the formats that take more than copying: what is encoded for one watch is
// sent by all others too. The collector may take frames at any time; then they are encoded again.
type sharedFrames struct {
	// mu guards formats. Their number is bounded by what can be negotiated.
	mu      sync.Mutex
	formats map[string]*recentFrames
}

// of returns the frames of a format.
func (s *sharedFrames) of(format string) *recentFrames {
	s.mu.Lock()
	defer s.mu.Unlock()
	recent := s.formats[format]
	if recent == nil {
		if s.formats == nil {
			s.formats = map[string]*recentFrames{}
		}
		recent = &recentFrames{}
		s.formats[format] = recent
	}
	return recent
}

// recentFrames has the last frame for each remainder of the revision.
type recentFrames [32]atomic.Pointer[recentFrame]

// recentFrame is a frame and what it is of. It keeps neither in memory.
type recentFrame struct {
	frameOf
	frame weak.Pointer[[]byte]
}

// frameOf says what a frame is of.
type frameOf struct {
	eventType watch.EventType
	view      weak.Pointer[dynamicstorage.View]
	revision  int64
}

// get returns a frame, nil if it is not there. It is not to be modified.
func (r *recentFrames) get(of frameOf) []byte {
	recent := r[uint64(of.revision)%uint64(len(r))].Load()
	if recent == nil || recent.frameOf != of {
		return nil
	}
	if frame := recent.frame.Value(); frame != nil {
		return *frame
	}
	return nil
}

// put keeps a copy of a frame.
func (r *recentFrames) put(of frameOf, frame []byte) {
	kept := bytes.Clone(frame)
	r[uint64(of.revision)%uint64(len(r))].Store(&recentFrame{frameOf: of, frame: weak.Make(&kept)})
}
