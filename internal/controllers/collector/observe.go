package collector

import (
	"bytes"

	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

var _ dynamicstorage.Observer = &run{}

// Reset implements dynamicstorage.Observer.
func (r *run) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scanned, r.stranded = false, map[string]struct{}{}
	r.index = newIndex(r.config.Kinds, func(o *object) {
		if r.scanned {
			r.objects.Add(o.key)
		}
	}, func(ref *reference) {
		if r.scanned {
			r.references.Add(ref)
		}
	})
}

// Scanned implements dynamicstorage.Observer.
func (r *run) Scanned(int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.scanned = true
	for _, ref := range r.index.references {
		if ref.state == unverified {
			r.references.Add(ref)
		}
	}
	for _, o := range r.index.objects {
		if r.index.isDue(o) {
			r.objects.Add(o.key)
		}
	}
}

// Observe implements dynamicstorage.Observer.
func (r *run) Observe(o dynamicstorage.Observation) {
	switch {
	case o.Deleted:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.index.remove(o.Key)
		delete(r.stranded, o.Key)
		return
	case !mentions(o.Value) && !r.has(o.Key):
		return
	}
	m, err := readMetadata(&o)
	if err != nil {
		klog.Background().V(2).Info("The garbage collector ignores an object that it cannot read", "key", o.Key, "err", err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.index.put(o.Key, o.Revision, &m)
}

// has reports whether the index has the object of a key, or a reference to it.
func (r *run) has(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.index.objects[key] != nil || r.index.named[key] != nil
}

var (
	ownerReferences   = []byte("ownerReferences")
	deletionTimestamp = []byte("deletionTimestamp")
	protobufPrefix    = []byte("k8s\x00") // such values have no names of fields
)

// mentions reports whether an object may have owners, or may be in deletion. It spares most objects from decoding.
func mentions(value []byte) bool {
	return bytes.Contains(value, ownerReferences) || bytes.Contains(value, deletionTimestamp) ||
		bytes.HasPrefix(value, protobufPrefix)
}

func readMetadata(o *dynamicstorage.Observation) (crds.Metadata, error) {
	if o.Err != nil {
		return crds.Metadata{}, o.Err
	}
	return crds.ReadMetadata(o.Value)
}
