package crds

import (
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Names counts who has which names in one API group. Plurals, singulars and short names share one space, kinds and list kinds
// another.
type Names struct {
	Resources, Kinds map[string]int
}

// NewNames returns names that nobody has.
func NewNames() Names { return Names{Resources: map[string]int{}, Kinds: map[string]int{}} }

// Count counts one who has names, or, by -1, has them no more.
func (n Names) Count(names *apiextensionsv1.CustomResourceDefinitionNames, by int) {
	count := func(space map[string]int, name string) {
		if space[name] += by; space[name] == 0 {
			delete(space, name)
		}
	}
	count(n.Resources, names.Plural)
	count(n.Resources, names.Singular)
	for _, name := range names.ShortNames {
		count(n.Resources, name)
	}
	count(n.Kinds, names.Kind)
	count(n.Kinds, names.ListKind)
}

// SameNames says whether two CRDs want, or have, the same names.
func SameNames(a, b *apiextensionsv1.CustomResourceDefinitionNames) bool {
	return a.Plural == b.Plural && a.Singular == b.Singular && a.Kind == b.Kind && a.ListKind == b.ListKind &&
		slices.Equal(a.ShortNames, b.ShortNames) && slices.Equal(a.Categories, b.Categories)
}

// WaitsForNames says that a CRD wants names it has not been granted.
func (r *Record) WaitsForNames() bool { return !SameNames(&r.Names, &r.AcceptedNames) }

// heldNames are the names that the CRDs of a group have been granted.
type heldNames struct {
	mu    sync.Mutex // guards names
	names Names
}

// change replaces a CRD by another; one of the two may be nil.
func (h *heldNames) change(old, record *Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if old != nil {
		h.names.Count(&old.AcceptedNames, -1)
	}
	if record != nil {
		h.names.Count(&record.AcceptedNames, 1)
	}
}

// of returns who has the names that somebody wants.
func (h *heldNames) of(wanted []*apiextensionsv1.CustomResourceDefinitionNames) Names {
	held := NewNames()
	for _, names := range wanted {
		held.Count(names, 1)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range held.Resources {
		held.Resources[name] = h.names.Resources[name]
	}
	for name := range held.Kinds {
		held.Kinds[name] = h.names.Kinds[name]
	}
	return held
}

// Held returns how many CRDs of a group have each of the names that somebody wants. It takes as long as there are names wanted, however
// many CRDs there are. The result belongs to the caller.
func (t *Table) Held(name string, wanted ...*apiextensionsv1.CustomResourceDefinitionNames) Names {
	if g, ok := t.groups.Load(name); ok {
		return g.(*group).held.of(wanted)
	}
	return NewNames()
}

// Waiting returns the CRDs of a group that wait for names. The slice is shared and must not be modified.
func (t *Table) Waiting(name string) []*Record {
	if g, ok := t.groups.Load(name); ok {
		return g.(*group).waiting
	}
	return nil
}
