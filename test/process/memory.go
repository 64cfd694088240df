package process

import (
	"errors"
	"strings"
)

// CheckMemory is an argument that has crd-server compare its memory with etcd all the time; see MemoryError.
const CheckMemory = "--cache-consistency-check-interval=1s"

// memoryMarker is in what the server logs when a comparison has found a difference.
const memoryMarker = "Cache inconsistent with etcd"

// ErrMemory says that the server's memory was not as etcd.
var ErrMemory = errors.New("the server's memory differed from etcd")

// MemoryError returns an error if a server that was started with CheckMemory has found a difference.
func (s *Server) MemoryError() error {
	if strings.Contains(s.Output(), memoryMarker) {
		return ErrMemory
	}
	return nil
}
