package crdhandler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/validation"
)

// headStart compiles what writing an object needs of the newest CRD, while that is still being validated and stored: who
// creates a CRD often uses it in the next request, and until then other processors have little to do. There is one at a time, and
// none while CRDs are created that nobody uses.
type headStart struct {
	mu sync.Mutex // guards all below. Nothing is compiled while it is held.
	// newest is the last CRD that could have had a head start; early is what was begun for it, until that is taken or dropped.
	newest     types.UID
	generation int64
	early      *earlySchemas
	compiling  bool
	// unused is how many in a row nobody has taken.
	unused int
}

// mostUnused is how many head starts may be for nothing before there are no more, until a CRD is used again before another
// one is created.
const mostUnused = 3

// earlySchemas are the schemas of a CRD that is not stored yet, and may never be.
type earlySchemas struct {
	set *validation.Set
	// unstored is the CRD as long as newEarlySchemas reads it, stored its record once that is known.
	unstored *apiextensions.CustomResourceDefinition
	stored   atomic.Pointer[crds.Record]
}

// newEarlySchemas returns those of a CRD that is about to be validated, with what all else of the version is compiled from. They share
// nothing of it that validation modifies.
func newEarlySchemas(crd *apiextensions.CustomResourceDefinition, version string) (*earlySchemas, error) {
	outline, err := crds.ToV1(crds.WithoutSchemas(crd))
	if err != nil {
		return nil, err
	}
	outline.ObjectMeta = metav1.ObjectMeta{Name: crd.Name} // annotations may be as large as the schemas
	e := &earlySchemas{unstored: crd}
	e.set = validation.NewFrom(outline, e.definition)
	err = e.compiling(version, func(v *validation.Version) error {
		_, err := v.Structural()
		return err
	})
	e.unstored = nil
	return e, err
}

// definition is what the schemas are compiled from.
func (e *earlySchemas) definition() (*apiextensions.CustomResourceDefinition, error) {
	if e.unstored != nil {
		crd := *e.unstored // the set remembers what it was given, as long as anybody holds it
		return &crd, nil
	}
	if record := e.stored.Load(); record != nil {
		return record.Internal()
	}
	return nil, errNotStored
}

// errNotStored cannot be met: schemas are taken with their record.
var errNotStored = errors.New("the CustomResourceDefinition has not been stored")

// compile compiles what writing an object of the version needs.
func (e *earlySchemas) compile(version string) error {
	return e.compiling(version, (*validation.Version).Compile)
}

// compiling calls compile with a version, if there is one of that name. What panics costs the head start only, and not a CRD that
// has not been validated yet, or the server.
func (e *earlySchemas) compiling(version string, compile func(*validation.Version) error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v", reason)
		}
	}()
	if v := e.set.Version(version); v != nil {
		return compile(v)
	}
	return nil
}

// startingAhead are the rules for CRDs, with a head start for those that are created.
type startingAhead struct {
	strategy
	ahead *headStart
}

func (s startingAhead) Validate(ctx context.Context, obj runtime.Object) field.ErrorList {
	s.ahead.begin(obj.(*apiextensions.CustomResourceDefinition))
	return s.strategy.Validate(ctx, obj)
}

// begin gives a CRD that is being created a head start, without waiting. What it starts ends when the CRD is compiled.
func (h *headStart) begin(crd *apiextensions.CustomResourceDefinition) {
	if !h.admit(crd.UID, crd.Generation) {
		return
	}
	name, version := crd.Name, storageVersion(crd)
	early, err := newEarlySchemas(crd, version)
	if err == nil {
		h.offer(crd.UID, early)
	}
	go func() {
		if err == nil {
			err = early.compile(version)
		}
		if err != nil {
			// The CRD is refused, or a request that needs the schemas meets the same, and says so.
			klog.V(2).InfoS("A new CustomResourceDefinition could not be compiled ahead", "name", name, "err", err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.compiling = false
	}()
}

// admit says whether a CRD gets a head start.
func (h *headStart) admit(uid types.UID, generation int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.newest, h.generation, h.early = uid, generation, nil
	if h.compiling || h.unused >= mostUnused {
		return false
	}
	h.compiling = true
	h.unused++
	return true
}

func storageVersion(crd *apiextensions.CustomResourceDefinition) string {
	for n := range crd.Spec.Versions {
		if crd.Spec.Versions[n].Storage {
			return crd.Spec.Versions[n].Name
		}
	}
	return ""
}

// offer lets the schemas be taken from now on, if they are those of the newest CRD still.
func (h *headStart) offer(uid types.UID, early *earlySchemas) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.newest == uid {
		h.early = early
	}
}

// take returns the schemas of a CRD if they had a head start, else nil. Some may still be being compiled.
func (h *headStart) take(record *crds.Record) *validation.Set {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.newest != record.UID {
		return nil
	}
	h.unused = 0
	taken := h.early
	h.newest, h.early = "", nil
	// Schemas are for objects of the kind that the CRD asked for. It may have been given another one.
	if taken == nil || h.generation != record.Generation || record.AcceptedNames.Kind != record.Names.Kind {
		return nil
	}
	taken.stored.Store(record)
	return taken.set
}

// drop gives up the head start of a CRD that has been changed or deleted.
func (h *headStart) drop(uid types.UID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.newest == uid {
		h.newest, h.early = "", nil
	}
}
