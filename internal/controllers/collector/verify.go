package collector

import (
	"context"
	"fmt"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// verify finds out whether the owner exists that a reference names.
func (r *run) verify(ctx context.Context, ref *reference) error {
	if !r.isUnverified(ref) {
		return nil
	}
	_, m, err := r.read(ctx, ref.key)
	if err != nil {
		return err
	}
	found := absent
	if m != nil && m.UID == ref.uid {
		found = present
	}
	if found == absent && ref.namespaced {
		r.reportNamespace(ctx, ref)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.index.setState(ref, found)
	return nil
}

// isUnverified reports whether an object of the index still needs to know the owner.
func (r *run) isUnverified(ref *reference) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.scanned && ref.state == unverified && r.index.references[ref.identity] == ref
}

// read reads the present metadata of an object, and its revision. The metadata is nil if there is no object.
func (r *run) read(ctx context.Context, key string) (revision int64, _ *crds.Metadata, _ error) {
	var o dynamicstorage.Observation
	o, err := r.config.Store.Read(ctx, key)
	if err != nil || o.Deleted {
		return o.Revision, nil, err
	}
	m, err := readMetadata(&o)
	if err != nil {
		return 0, nil, fmt.Errorf("reading %s: %w", key, err)
	}
	return o.Revision, &m, nil
}
