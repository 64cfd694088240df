package collector

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// world is what a scenario works with: its objects have UIDs by their IDs.
type world struct {
	*stepped
	uids map[string]types.UID
}

// reference returns an ownerReference: "[namespace/]name", with "!" at the end if it blocks.
func (w *world) reference(owner string) metav1.OwnerReference {
	id, blocks := strings.CutSuffix(owner, "!")
	ref := metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Realm", Name: id, UID: w.uids[id]}
	if _, name, namespaced := strings.Cut(id, "/"); namespaced {
		ref.Kind, ref.Name = "Widget", name
	}
	if ref.UID == "" {
		ref.UID = types.UID("uid-of-" + id)
	}
	if blocks {
		ref.BlockOwnerDeletion = &blocks
	}
	return ref
}

func (w *world) ownedBy(id string, owners ...string) {
	w.Helper()
	var meta metav1.ObjectMeta
	for _, owner := range owners {
		meta.OwnerReferences = append(meta.OwnerReferences, w.reference(owner))
	}
	w.uids[id] = w.create(id, meta)
}

// held creates an object with a finalizer of somebody else.
func (w *world) held(id string, owners ...string) {
	w.Helper()
	w.ownedBy(id, owners...)
	w.merge(id, `{"metadata":{"finalizers":["example.com/held"]}}`)
}

// state describes the objects that are left: "id", "id<owner,owner!" with owners, "id*" if it is being deleted, with
// the finalizers of the collector in brackets.
func (w *world) state() string {
	w.Helper()
	var all []string
	names := map[types.UID]string{}
	for id, uid := range w.uids {
		names[uid] = id
	}
	for id := range w.uids {
		got := w.get(id)
		if got == nil {
			continue
		}
		described := id
		if got.DeletionTimestamp != nil {
			described += "*"
		}
		for _, finalizer := range got.Finalizers {
			if finalizer != "example.com/held" {
				described += "[" + finalizer + "]"
			}
		}
		var owners []string
		for _, ref := range got.OwnerReferences {
			name, blocks := names[ref.UID], ref.BlockOwnerDeletion
			if name == "" {
				name = string(ref.UID)
			}
			if blocks != nil && *blocks {
				name += "!"
			}
			owners = append(owners, name)
		}
		if len(owners) > 0 {
			described += "<" + strings.Join(owners, ",")
		}
		all = append(all, described)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

const (
	background = metav1.DeletePropagationBackground
	foreground = metav1.DeletePropagationForeground
	orphan     = metav1.DeletePropagationOrphan
)

// scenarios are what a collector has to do. The end states are those of kube-controller-manager.
var scenarios = []struct {
	name string
	// before is done before the collector starts or has settled; act after that.
	before, act func(w *world)
	want        string
}{
	{"background", func(w *world) {
		w.ownedBy("n/a")
		w.ownedBy("n/b", "n/a")
		w.ownedBy("n/c", "n/b")
		w.ownedBy("n/other")
	}, func(w *world) { w.delete("n/a", background) }, "n/other"},
	{"foreground", func(w *world) {
		w.ownedBy("n/a")
		w.ownedBy("n/b", "n/a!")
		w.ownedBy("n/c", "n/b!")
		w.ownedBy("n/d", "n/a")
	}, func(w *world) { w.delete("n/a", foreground) }, ""},
	{"foreground waits for a blocking dependent", func(w *world) {
		w.ownedBy("n/a")
		w.held("n/b", "n/a!")
	}, func(w *world) { w.delete("n/a", foreground) }, "n/a*[foregroundDeletion] n/b*<n/a!"},
	{"foreground does not wait for others", func(w *world) {
		w.ownedBy("n/a")
		w.held("n/b", "n/a")
	}, func(w *world) { w.delete("n/a", foreground) }, "n/b*<n/a"},
	{"foreground goes on when a dependent does not block any more", func(w *world) {
		w.ownedBy("n/a")
		w.held("n/b", "n/a!")
		w.delete("n/a", foreground)
		w.delete("n/b", background)
	}, func(w *world) {
		w.merge("n/b", `{"metadata":{"ownerReferences":null}}`)
	}, "n/b*"},
	{"foreground without dependents", func(w *world) { w.ownedBy("n/a") },
		func(w *world) { w.delete("n/a", foreground) }, ""},
	{"foreground reaches dependents of dependents that block", func(w *world) {
		w.ownedBy("n/a")
		w.ownedBy("n/b", "n/a!")
		w.held("n/c", "n/b!")
	}, func(w *world) { w.delete("n/a", foreground) }, "n/a*[foregroundDeletion] n/b*[foregroundDeletion]<n/a! n/c*<n/b!"},
	{"foreground: a new dependent goes too", func(w *world) {
		w.ownedBy("n/a")
		w.held("n/b", "n/a!")
		w.delete("n/a", foreground)
	}, func(w *world) {
		w.ownedBy("n/c", "n/a")
		w.merge("n/b", `{"metadata":{"finalizers":null}}`)
	}, ""},
	{"orphan", func(w *world) {
		w.ownedBy("n/a")
		w.ownedBy("n/b", "n/a")
		w.ownedBy("n/c", "n/a!", "n/b")
	}, func(w *world) { w.delete("n/a", orphan) }, "n/b n/c<n/b"},
	{"orphan without dependents", func(w *world) { w.ownedBy("n/a") },
		func(w *world) { w.delete("n/a", orphan) }, ""},
	{"a dependent keeps its other owner", func(w *world) {
		w.ownedBy("n/a")
		w.ownedBy("n/b")
		w.ownedBy("n/c", "n/a", "n/b!")
	}, func(w *world) { w.delete("n/a", background) }, "n/b n/c<n/b!"},
	{"a dependent of a waiting owner keeps its other owner", func(w *world) {
		w.ownedBy("n/a")
		w.ownedBy("n/b")
		w.ownedBy("n/c", "n/a!", "n/b")
	}, func(w *world) { w.delete("n/a", foreground) }, "n/b n/c<n/b"},
	{"both owners go", func(w *world) {
		w.ownedBy("n/a")
		w.ownedBy("n/b")
		w.ownedBy("n/c", "n/a", "n/b")
	}, func(w *world) {
		w.delete("n/a", background)
		w.delete("n/b", background)
	}, ""},
	{"one owner absent, one waits", func(w *world) {
		w.ownedBy("n/a")
		w.ownedBy("n/c", "n/a!", "n/absent")
	}, func(w *world) { w.delete("n/a", foreground) }, ""},
	{"an owner that waits for somebody else is there", func(w *world) {
		w.held("n/a")
		w.ownedBy("n/b", "n/a")
	}, func(w *world) { w.delete("n/a", background) }, "n/a* n/b<n/a"},
	{"absent owner", func(w *world) { w.ownedBy("n/b", "n/absent") }, nil, ""},
	{"absent owner, and one of a kind that is not served", func(w *world) {
		w.ownedBy("n/b", "n/absent")
		w.merge("n/b", `{"metadata":{"ownerReferences":[{"apiVersion":"example.com/v1","kind":"Widget","name":"absent",
"uid":"1"},
{"apiVersion":"apps/v1","kind":"Deployment","name":"x","uid":"2"}]}}`)
	}, nil, "n/b<1,2"},
	{"owner in a version that is not served", func(w *world) {
		w.ownedBy("n/a")
		w.ownedBy("n/b", "n/a")
		w.merge("n/b", fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"example.com/v2","kind":"Widget",`+
			`"name":"a","uid":%q}]}}`,
			w.uids["n/a"]))
	}, func(w *world) { w.delete("n/a", background) }, "n/b<n/a"},
	{"owner with another UID", func(w *world) {
		w.ownedBy("n/a")
		w.ownedBy("n/b", "n/a")
		w.delete("n/a", background)
		w.ownedBy("n/a")
		w.ownedBy("n/c", "n/a")
	}, nil, "n/a n/c<n/a"},
	{"owner by another name", func(w *world) {
		w.ownedBy("n/a")
		w.uids["n/b"] = w.create("n/b", metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{widget("x",
			w.uids["n/a"])}})
		w.ownedBy("n/c", "n/a")
	}, nil, "n/a n/c<n/a"},
	{"owner in another namespace", func(w *world) {
		w.ownedBy("n/a")
		w.ownedBy("m/b", "n/a")
		w.ownedBy("n/c", "n/a")
	}, nil, "n/a n/c<n/a"},
	{"cluster-scoped owner", func(w *world) {
		w.ownedBy("a")
		w.ownedBy("n/b", "a")
		w.ownedBy("m/c", "a")
		w.ownedBy("d", "a")
	}, func(w *world) { w.delete("a", background) }, ""},
	{"cluster-scoped dependent of a namespaced owner", func(w *world) {
		w.ownedBy("n/a")
		w.ownedBy("a")
		w.ownedBy("b", "n/a", "a")
	}, func(w *world) {
		w.delete("n/a", background)
		w.delete("a", background)
	}, "b<n/a,a"},
	{"cycle in the foreground", func(w *world) {
		w.ownedBy("n/a")
		w.ownedBy("n/b", "n/a!")
		w.merge("n/a", fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"example.com/v1","kind":"Widget","name":"b",
"uid":%q,"blockOwnerDeletion":true}]}}`, w.uids["n/b"]))
	}, func(w *world) { w.delete("n/a", foreground) }, ""},
	{"cycle that nobody deletes", func(w *world) {
		w.ownedBy("n/a")
		w.ownedBy("n/b", "n/a")
		w.merge("n/a", fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"example.com/v1","kind":"Widget","name":"b",
"uid":%q}]}}`, w.uids["n/b"]))
	}, nil, "n/a<n/b n/b<n/a"},
	{"cycle in the background", func(w *world) {
		w.ownedBy("n/a")
		w.ownedBy("n/b", "n/a")
		w.merge("n/a", fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"example.com/v1","kind":"Widget","name":"b",
"uid":%q}]}}`, w.uids["n/b"]))
	}, func(w *world) { w.delete("n/a", background) }, ""},
	{"an owner is added", func(w *world) {
		w.ownedBy("n/b")
	}, func(w *world) {
		w.merge("n/b", `{"metadata":{"ownerReferences":[{"apiVersion":"example.com/v1","kind":"Widget","name":"x",`+
			`"uid":"1"}]}}`)
	}, ""},
	{"the owner is removed in time", func(w *world) {
		w.ownedBy("n/a")
		w.ownedBy("n/b", "n/a")
	}, func(w *world) {
		w.merge("n/b", `{"metadata":{"ownerReferences":null}}`)
		w.delete("n/a", background)
	}, "n/b"},
	{"a dependent with the finalizer of orphan deletion", func(w *world) {
		w.ownedBy("n/a")
		w.ownedBy("n/b", "n/a")
		w.ownedBy("n/c", "n/b")
		w.merge("n/b", `{"metadata":{"finalizers":["orphan"]}}`)
	}, func(w *world) { w.delete("n/a", background) }, "n/c"},
	{"the same owner twice", func(w *world) {
		w.ownedBy("n/a")
		w.ownedBy("n/b", "n/a!", "n/a!")
	}, func(w *world) { w.delete("n/a", foreground) }, ""},
}

// TestScenarios checks the end state of each scenario, if the collector follows everything, and if it starts at the
// end.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios {
		for _, follows := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, follows %v", s.name, follows), func(t *testing.T) {
				t.Parallel()
				w := &world{uids: map[string]types.UID{}}
				server := startServer(t)
				w.stepped = &stepped{server: server}
				if follows {
					w.stepped = server.step()
				}
				s.before(w)
				if follows {
					w.settle()
				}
				if s.act != nil {
					s.act(w)
				}
				if !follows {
					w.stepped = server.step()
				}
				w.settle()
				if got := w.state(); got != s.want {
					t.Errorf("%q, want %q", got, s.want)
				}
				w.checkIndex()
			})
		}
	}
}

// checkIndex checks that the index has nothing that does not exist.
func (w *world) checkIndex() {
	w.Helper()
	x := w.index
	dependents := 0
	for key, o := range x.objects {
		dependents += len(o.links)
		if o.key != key || len(o.links) == 0 && !o.finalizing() {
			w.Errorf("%s: %+v", key, o)
		}
	}
	if dependents == 0 && (len(x.references) > 0 || len(x.named) > 0) {
		w.Errorf("%d references, %d names are left", len(x.references), len(x.named))
	}
	for uid, owner := range x.owners {
		if len(owner.references) == 0 && owner.finalizing == nil {
			w.Errorf("the owner %s is left", uid)
		}
	}
}
