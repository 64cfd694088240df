package crds

import (
	"sync"
	"unsafe"
	"weak"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// known is what this process knows of a value that it has written itself. All of it is immutable.
type known struct {
	// spec is where the spec stands in the value; statusAt where that which comes before the status begins.
	spec     []byte
	statusAt int
	outline  *apiextensionsv1.CustomResourceDefinition
	// definition is there as long as the writer holds it. It must not be modified.
	definition weak.Pointer[apiextensions.CustomResourceDefinition]
}

func weakly(crd *apiextensions.CustomResourceDefinition) weak.Pointer[apiextensions.CustomResourceDefinition] {
	return weak.Make(crd)
}

// recent are the values written last: their events are about to come, and their conditions to be computed, for which they
// need not be decoded. Values are told by where they are: an entry keeps the slice it was written from. What has
// been pushed out is decoded again, so this is about time only.
var recent struct {
	mu     sync.Mutex // guards both
	values [64]struct {
		value *byte // keeps the memory from being used for another value
		known *known
	}
	next int
}

// remember keeps what is known of a value for a while.
func remember(value []byte, k *known) {
	recent.mu.Lock()
	defer recent.mu.Unlock()
	slot := &recent.values[recent.next]
	slot.value, slot.known = unsafe.SliceData(value), k
	recent.next = (recent.next + 1) % len(recent.values)
}

// recall returns what is known of a value, nil for most.
func recall(value []byte) *known {
	at := unsafe.SliceData(value)
	recent.mu.Lock()
	defer recent.mu.Unlock()
	for n := range recent.values {
		if slot := &recent.values[n]; slot.value == at && at != nil {
			return slot.known
		}
	}
	return nil
}
