package crdhandler

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/warning"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// changeMemory remembers, beside an entry, that a change of it changes nothing: controllers apply the same configuration again
// and again. It is for changes whose outcome follows from the entry, the request and the rules of the version: those that
// admission has no say in. What is remembered is gone with the revision of the entry and with the version's rules.
type changeMemory struct {
	// request is a digest of all that the outcome depends on but for the entry and the rules.
	request              dynamicstorage.Note
	manager, subresource string
	// spared is called in place of the change.
	spared func()

	// lasting says that what the change under way would leave alone, it would leave alone at any later time too.
	lasting bool
}

// memory returns what may spare an apply; nil where its outcome depends on more than it can know, and for all other
// patches, which seldom are sent twice.
func (p *patcher) memory(spared func()) *changeMemory {
	s := p.scope
	if !p.applies() || p.admitter.dryRun || s.part != nil || s.settle != nil || s.config.Admission != nil {
		return nil
	}
	digest := sha256.New()
	force := p.options.Force != nil && *p.options.Force
	for _, part := range []string{
		s.subresource, string(p.patchType), p.options.FieldManager, strconv.FormatBool(force), string(p.validation),
	} {
		digest.Write(binary.AppendUvarint(nil, uint64(len(part))))
		digest.Write([]byte(part))
	}
	digest.Write(p.body)
	m := &changeMemory{spared: spared, manager: p.options.FieldManager, subresource: s.subresource}
	digest.Sum(m.request[:0])
	return m
}

// look is shown the object that is about to be changed. An apply that changes something, though it may be undone later (a status
// that is not to be set here), sets the time of its manager's entry, and entries are ordered by time: unless that entry is the
// last of its kind already, it moves there as soon as a second is over, and that is a change.
func (m *changeMemory) look(live runtime.Object) {
	m.lasting = false
	obj, ok := live.(*unstructured.Unstructured)
	if !ok {
		return
	}
	entries, _ := rawManagedFields(obj.Object).([]any)
	for _, entry := range slices.Backward(entries) {
		members, _ := entry.(map[string]any)
		if members["operation"] == string(metav1.ManagedFieldsOperationApply) {
			subresource, _ := members["subresource"].(string)
			m.lasting = members["manager"] == m.manager && subresource == m.subresource
			return
		}
	}
}

// note is what is kept of the change beside an entry. A configuration may name the revision that it is meant for, and entries
// of several revisions may share their notes.
func (m *changeMemory) note(revision int64) dynamicstorage.Note {
	return sha256.Sum256(binary.AppendVarint(m.request[:], revision))
}

// sparing returns mutate without its work where the memory knows that there is nothing to change. A change that warns is done
// each time, for the sake of the warnings.
func (m *changeMemory) sparing(viewer *dynamicstorage.Viewer, mutate dynamicstorage.Mutate) dynamicstorage.Mutate {
	return func(ctx context.Context, cur *dynamicstorage.Entry) (dynamicstorage.Change, error) {
		if cur == nil {
			return mutate(ctx, cur)
		}
		note := m.note(cur.Revision)
		if viewer.Noted(cur, note) {
			m.spared()
			return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
		}
		var heard heardWarnings
		m.lasting = false
		change, err := mutate(warning.WithWarningRecorder(ctx, &heard), cur)
		for _, w := range heard {
			warning.AddWarning(ctx, w.agent, w.text)
		}
		if err == nil && change.Op == dynamicstorage.Keep && m.lasting && len(heard) == 0 {
			viewer.Note(cur, note)
		}
		return change, err
	}
}

// heardWarnings are warnings in the order in which they were given.
type heardWarnings []struct{ agent, text string }

var _ warning.Recorder = &heardWarnings{}

func (h *heardWarnings) AddWarning(agent, text string) {
	*h = append(*h, struct{ agent, text string }{agent, text})
}
