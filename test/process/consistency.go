package process

import (
	"errors"
	"strings"
)

// CheckCache are the arguments that make crd-server compare its cache with etcd every second, and what it serves of an
// object with what it stores after every write; see CacheError.
var CheckCache = []string{"--cache-consistency-check-interval=1s", "--cache-consistency-check-views"}

// inconsistentMarker is in the log of a server that has found a difference.
const inconsistentMarker = "Cache inconsistent with etcd"

// ErrCache is returned if the cache of a server differed from etcd.
var ErrCache = errors.New("the server's cache differed from etcd")

// CacheError returns an error if a server that was started with CheckCache has found a difference.
func (s *Server) CacheError() error {
	if strings.Contains(s.Output(), inconsistentMarker) {
		return ErrCache
	}
	return nil
}
