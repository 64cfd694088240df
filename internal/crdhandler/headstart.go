package crdhandler

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/validation"
)

// headStart compiles what writing an object needs of the newest CRD, while that is still on its way to its client: who
// creates a CRD often uses it in the next request. There is one at a time, and none while CRDs are created that nobody uses.
type headStart struct {
	mu sync.Mutex // guards all below. Nothing is compiled while it is held.
	// newest is the last CRD that could have had a head start; schemas is what was begun for it, until that is taken or dropped.
	newest     types.UID
	generation int64
	schemas    *validation.Set
	compiling  bool
	// unused is how many in a row nobody has taken.
	unused int
}

// mostUnused is how many head starts may be for nothing before there are no more, until a CRD is used again before another
// one is created.
const mostUnused = 3

// begin gives a CRD that this server has just created a head start. It does not wait; what it starts ends when it has
// compiled the CRD.
func (h *headStart) begin(record *crds.Record) {
	if !h.admit(record) {
		return
	}
	go func() {
		if err := h.compile(record); err != nil {
			// A request that needs the schemas meets the same, and says so.
			klog.V(2).InfoS("A new CustomResourceDefinition could not be compiled ahead", "name", record.Name, "err", err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.compiling = false
	}()
}

// admit says whether a CRD gets a head start.
func (h *headStart) admit(record *crds.Record) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.newest, h.generation, h.schemas = record.UID, record.Generation, nil
	if h.compiling || h.unused >= mostUnused {
		return false
	}
	h.compiling = true
	h.unused++
	return true
}

func (h *headStart) compile(record *crds.Record) (err error) {
	defer func() {
		if reason := recover(); reason != nil { // in a request it would cost the request, here the server
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	outline, err := record.Outline()
	if err != nil {
		return err
	}
	schemas := validation.NewFrom(outline, record.Definition)
	if !h.offer(record, schemas) {
		return nil
	}
	return schemas.Version(record.StorageVersion()).Compile()
}

// offer lets schemas be taken from now on. It returns false if they are not those of the newest CRD any more.
func (h *headStart) offer(record *crds.Record, schemas *validation.Set) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.newest != record.UID || h.generation != record.Generation {
		return false
	}
	h.schemas = schemas
	return true
}

// take returns the schemas of a CRD if they had a head start, else nil. Some may still be being compiled.
func (h *headStart) take(record *crds.Record) *validation.Set {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.newest != record.UID {
		return nil
	}
	h.unused = 0
	taken := h.schemas
	h.newest, h.schemas = "", nil
	// Schemas are for objects of the kind that the CRD asked for. It may have been given another one.
	if h.generation != record.Generation || record.AcceptedNames.Kind != record.Names.Kind {
		return nil
	}
	return taken
}

// drop gives up the head start of a CRD that has been changed or deleted.
func (h *headStart) drop(uid types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.newest == uid {
		h.newest, h.schemas = "", nil
	}
}
