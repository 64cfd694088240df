package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// kind is a kind of the objects in a family.
type kind struct{ apiVersion, name, prefix, plural string }

var (
	cellKind      = kind{group + "/v1", "Cell", "/apis/" + group + "/v1", plural}
	secretKind    = kind{"v1", "Secret", "/api/v1", "secrets"}
	configMapKind = kind{"v1", "ConfigMap", "/api/v1", "configmaps"}
)

// relative is an object that may have owners.
type relative struct {
	kind
	namespace, name string
	owners          []*relative
	// policy is how the test deletes it; "" if it does not.
	policy string
	// uid and revision are those that the server has returned for the creation, uid is "" if it has not answered.
	uid, revision string
}

func (r *relative) collection() string {
	return r.prefix + "/namespaces/" + r.namespace + "/" + r.plural
}

func (r *relative) path() string { return r.collection() + "/" + r.name }

// body returns the JSON of the object. It blocks the deletion of its owners.
func (r *relative) body() []byte {
	type reference struct {
		APIVersion         string `json:"apiVersion"`
		Kind               string `json:"kind"`
		Name               string `json:"name"`
		UID                string `json:"uid"`
		BlockOwnerDeletion bool   `json:"blockOwnerDeletion"`
	}
	refs := []reference{}
	for _, owner := range r.owners {
		refs = append(refs, reference{owner.apiVersion, owner.kind.name, owner.name, owner.uid, true})
	}
	encoded, err := json.Marshal(map[string]any{"apiVersion": r.apiVersion, "kind": r.kind.name,
		"metadata": map[string]any{"name": r.name, "namespace": r.namespace, "ownerReferences": refs}})
	if err != nil {
		panic(err) // these types can be encoded
	}
	return encoded
}

// survives reports whether the object is left when all garbage is collected.
func (r *relative) survives() bool {
	if r.policy != "" {
		return false
	}
	return len(r.owners) == 0 || slices.ContainsFunc(r.owners, func(owner *relative) bool {
		return owner.survives() || owner.policy == "Orphan"
	})
}

// survivors returns the UIDs of the owners that are left.
func (r *relative) survivors() []string {
	uids := []string{}
	for _, owner := range r.owners {
		if owner.survives() {
			uids = append(uids, owner.uid)
		}
	}
	return uids
}

// families are objects that own each other, in several namespaces. Owners come before their dependents.
type families struct {
	namespaces []string
	all        []*relative
	// before are the paths of objects that existed before.
	before map[string]bool
}

// newFamilies returns four families of 41 objects in each namespace. The root of the first is not deleted; those of
// others are, and some of their members have an owner in the first one too. Some namespaces have a family whose root is
// deleted and leaves its dependents.
func newFamilies(namespaces int) *families {
	m := &families{}
	for n := range namespaces {
		namespace := fmt.Sprintf("garbage-%d", n)
		m.namespaces = append(m.namespaces, namespace)
		kept := m.add(cellKind, namespace, "kept")
		m.addMembers(kept)
		for _, policy := range []string{"Background", "Foreground", "Background"} {
			root := m.add(cellKind, namespace, fmt.Sprintf("%s-%d", strings.ToLower(policy), len(m.all)))
			root.policy = policy
			shared := m.addMembers(root)
			shared.owners = append(shared.owners, kept)
		}
		if n%10 == 0 {
			root := m.add(cellKind, namespace, "orphaning")
			root.policy = "Orphan"
			m.addMembers(root)
		}
	}
	return m
}

func (m *families) add(k kind, namespace, name string, owners ...*relative) *relative {
	r := &relative{kind: k, namespace: namespace, name: name, owners: owners}
	m.all = append(m.all, r)
	return r
}

// addMembers adds 40 dependents in three generations. It returns a child.
func (m *families) addMembers(root *relative) (child *relative) {
	for range 4 {
		child = m.addNext(cellKind, root)
		for _, k := range []kind{secretKind, configMapKind, secretKind, cellKind, cellKind, cellKind} {
			if next := m.addNext(k, child); k == cellKind {
				m.addNext(configMapKind, next)
			}
		}
	}
	return child
}

func (m *families) addNext(k kind, owner *relative) *relative {
	return m.add(k, owner.namespace, fmt.Sprintf("member-%d", len(m.all)), owner)
}

// createAll creates the namespaces and the objects, owners first.
func (m *families) createAll(t *testing.T, f *fleet) {
	t.Helper()
	m.before = map[string]bool{}
	for _, namespace := range m.namespaces {
		f.must(t, http.StatusCreated, http.MethodPost, "/api/v1/namespaces",
			fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, namespace))
	}
	for path := range listAll(t, f) {
		m.before[path] = true
	}
	inParallel(len(m.namespaces), func(n int) {
		for _, r := range m.all {
			if r.namespace == m.namespaces[n] && !r.create(t.Context(), f) {
				t.Errorf("%s was not created", r.path())
				return
			}
		}
	})
	if t.Failed() {
		t.FailNow()
	}
}

// create creates an object, and reports whether the server has said so.
func (r *relative) create(ctx context.Context, f *fleet) bool {
	code, answer, err := f.do(ctx, f.leader, http.MethodPost, r.collection(), r.body())
	if err != nil || code != http.StatusCreated {
		return false
	}
	var created struct{ Metadata listed }
	if json.Unmarshal(answer, &created) != nil {
		return false
	}
	r.uid, r.revision = created.Metadata.UID, created.Metadata.ResourceVersion
	return true
}

// createMore creates dependents of parents, from several clients, until ctx is done.
func (m *families) createMore(ctx context.Context, f *fleet, parents []*relative) {
	const clients = 4
	var mu sync.Mutex // guards m.all
	began := len(m.all)
	inParallel(clients, func(n int) {
		for i := n; ctx.Err() == nil; i += clients {
			owner := parents[i%len(parents)]
			r := &relative{kind: secretKind, namespace: owner.namespace, name: fmt.Sprintf("late-%d-%d", began, i),
				owners: []*relative{owner}}
			r.create(ctx, f)
			pause(ctx, 10*time.Millisecond)
			mu.Lock()
			m.all = append(m.all, r)
			mu.Unlock()
		}
	})
}

// doomed returns the objects that the test deletes, kept the roots that it does not.
func (m *families) doomed() (doomed []*relative) {
	for _, r := range m.all {
		if r.policy != "" {
			doomed = append(doomed, r)
		}
	}
	return doomed
}

func (m *families) kept() (kept []*relative) {
	for _, r := range m.all {
		if len(r.owners) == 0 && r.policy == "" {
			kept = append(kept, r)
		}
	}
	return kept
}

// childOf returns a dependent of a root.
func (m *families) childOf(root *relative) *relative {
	return m.all[slices.IndexFunc(m.all, func(r *relative) bool { return slices.Contains(r.owners, root) })]
}

// awaitChange waits until the collector has deleted or changed an object, or until ctx is done.
func (r *relative) awaitChange(ctx context.Context, f *fleet) {
	for ; ctx.Err() == nil; pause(ctx, 5*time.Millisecond) {
		code, answer, err := f.do(ctx, f.leader, http.MethodGet, r.path(), nil)
		if err == nil && code < 500 && !strings.Contains(string(answer), `"resourceVersion":"`+r.revision+`"`) {
			return
		}
	}
}

// collected returns how many objects the collector has to delete.
func (m *families) collected() (n int) {
	for _, r := range m.all {
		if r.policy == "" && !r.survives() {
			n++
		}
	}
	return n
}

// deleteRoots deletes objects, and repeats requests without an answer.
func (m *families) deleteRoots(ctx context.Context, f *fleet, roots []*relative) {
	inParallel(16, func(n int) {
		for i := n; i < len(roots); i += 16 {
			r := roots[i]
			_, _, _ = f.insist(ctx, http.MethodDelete, r.path(), fmt.Appendf(nil,
				`{"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":%q,"preconditions":{"uid":%q}}`, r.policy, r.uid))
		}
	})
}

// compare compares all objects with the model. It returns descriptions of those that are wrong, and how many still have
// to be deleted, or to lose an owner.
func (m *families) compare(t *testing.T, f *fleet) (wrong []string, left int) {
	t.Helper()
	found := listAll(t, f)
	for _, r := range m.all {
		got, exists := found[r.path()]
		delete(found, r.path())
		switch {
		case !r.survives():
			if exists {
				left++
			}
		case r.uid == "": // it is unknown whether it was created
		case !exists:
			wrong = append(wrong, r.path()+" is missing")
		case got.UID != r.uid:
			wrong = append(wrong, r.path()+" is another object")
		case len(r.survivors()) == len(r.owners):
			if got.ResourceVersion != r.revision || got.DeletionTimestamp != "" {
				wrong = append(wrong, r.path()+" has changed")
			}
		default:
			if got.DeletionTimestamp != "" || !got.hasOwners(r.survivors()) {
				wrong = append(wrong, r.path()+" has lost owners that are left")
			} else if len(got.OwnerReferences) != len(r.survivors()) {
				left++
			}
		}
	}
	for path := range found {
		isServers := strings.HasSuffix(path, "/configmaps/kube-root-ca.crt") // every namespace gets one
		if !m.before[path] && !isServers {
			wrong = append(wrong, path+" was not created by the test")
		}
	}
	return wrong, left
}

// listed is the metadata of an object in a list.
type listed struct {
	Namespace, Name, UID, ResourceVersion, DeletionTimestamp string
	OwnerReferences                                          []struct{ UID string }
}

func (l *listed) hasOwners(uids []string) bool {
	for _, uid := range uids {
		if !slices.ContainsFunc(l.OwnerReferences, func(ref struct{ UID string }) bool { return ref.UID == uid }) {
			return false
		}
	}
	return true
}

// listAll returns all objects of the kinds of families, by path.
func listAll(t *testing.T, f *fleet) map[string]listed {
	t.Helper()
	all := map[string]listed{}
	for _, k := range []kind{cellKind, secretKind, configMapKind} {
		var list struct{ Items []struct{ Metadata listed } }
		if err := json.Unmarshal(f.must(t, http.StatusOK, http.MethodGet, k.prefix+"/"+k.plural, nil), &list); err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Items {
			all[(&relative{kind: k, namespace: item.Metadata.Namespace, name: item.Metadata.Name}).path()] = item.Metadata
		}
	}
	return all
}

// inParallel calls do for 0 to n-1, and returns when all calls have returned.
func inParallel(n int, do func(n int)) {
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() { do(i) })
	}
	running.Wait()
}
