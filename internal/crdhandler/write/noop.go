package write

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/warning"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// NoOpCheck skips applies that are known to change nothing: controllers apply the same configuration again and again.
// The storage remembers, beside an entry, the digests of such applies. It forgets them when the entry or the schema
// changes. Only applies are remembered whose outcome follows from the request, the entry and the schema.
type NoOpCheck struct {
	// request is a digest of the request.
	request              dynamicstorage.NoOpDigest
	manager, subresource string
}

// NewNoOpCheck returns the check of an apply by a manager. options are those that its outcome depends on. It returns
// nil if the outcome depends on more than the request, the entry and the schema.
func (e *Endpoint) NewNoOpCheck(manager string, body []byte, options ...string) *NoOpCheck {
	if e.Scale != nil || e.InEffect != nil || e.Policy.admits() {
		return nil
	}
	digest := sha256.New()
	for _, option := range append(options, manager, e.Subresource) {
		digest.Write(binary.AppendUvarint(nil, uint64(len(option))))
		digest.Write([]byte(option))
	}
	digest.Write(body)
	n := &NoOpCheck{manager: manager, subresource: e.Subresource}
	digest.Sum(n.request[:0])
	return n
}

// attempt is update.compute without the work for applies that are known to change nothing. An apply that warns is
// computed each time, so that the client gets the warnings.
func (n *NoOpCheck) attempt(
	ctx context.Context, u *update, current *dynamicstorage.Entry,
) (Proposal, dynamicstorage.Change, error) {
	viewer := u.Objects.Viewer
	digest := n.digestAt(current.Revision)
	if viewer.IsNoOp(current, digest) {
		return Proposal{}, dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
	}
	var warnings recordedWarnings
	p, change, err := u.compute(warning.WithWarningRecorder(ctx, &warnings), current)
	for _, w := range warnings {
		warning.AddWarning(ctx, w.agent, w.text)
	}
	if err == nil && change.Op == dynamicstorage.Keep && len(warnings) == 0 && n.lasts(p.Obj) && !u.Policy.admits() {
		viewer.AddNoOp(current, digest)
	}
	return p, change, err
}

// digestAt returns the digest to record beside an entry of a revision. It includes the revision because a
// configuration may name the resourceVersion it is meant for.
func (n *NoOpCheck) digestAt(revision int64) dynamicstorage.NoOpDigest {
	return sha256.Sum256(binary.AppendVarint(n.request[:], revision))
}

// lasts reports whether an apply that leaves obj alone now will do so at any later time. An apply that changes
// something sets the time of its manager's entry even if the change is undone later, such as one of the status that
// is not to be set at this endpoint. Entries are ordered by time. Unless the manager's entry is the last apply
// already, it moves there once a second has passed, which is a change.
func (n *NoOpCheck) lasts(obj runtime.Object) bool {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return false
	}
	entries, _, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields")
	items, _ := entries.([]any)
	for _, item := range slices.Backward(items) {
		members, _ := item.(map[string]any)
		if members["operation"] == string(metav1.ManagedFieldsOperationApply) {
			subresource, _ := members["subresource"].(string)
			return members["manager"] == n.manager && subresource == n.subresource
		}
	}
	return false
}

// recordedWarnings are warnings in the order in which they were given.
type recordedWarnings []struct{ agent, text string }

var _ warning.Recorder = &recordedWarnings{}

// AddWarning implements warning.Recorder.
func (r *recordedWarnings) AddWarning(agent, text string) {
	*r = append(*r, struct{ agent, text string }{agent, text})
}
