package transcripts

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// graphs is how many random graphs TestDifferentialControllers makes.
const graphs = 12

// graphKinds are the collections of a graph's objects, below its namespace. The last is that of a custom resource.
var graphKinds = []graphKind{
	{"v1", "ConfigMap", "/api/v1/namespaces/%s/configmaps"},
	{"v1", "Secret", "/api/v1/namespaces/%s/secrets"},
	{"coordination.k8s.io/v1", "Lease", "/apis/coordination.k8s.io/v1/namespaces/%s/leases"},
	{"lockstep.example.com/v1", "Box", "/apis/lockstep.example.com/v1/namespaces/%s/boxes"},
}

// absent is an owner that does not exist.
var absent = map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "never",
	"uid": "11111111-2222-3333-4444-555555555555"}

type graphKind struct{ apiVersion, kind, collection string }

// TestDifferentialControllers makes the same random objects on kube-apiserver with kube-controller-manager, and on our
// server: objects that own others, some of which do not exist, and finalizers. It deletes some of them with random
// policies, and some of the namespaces, and waits until both servers hold the same objects in the same state. Then it
// removes the finalizers, deletes all namespaces, and waits until nothing is left on both.
func TestDifferentialControllers(t *testing.T) {
	if !*upstream {
		t.Skip("without -upstream")
	}
	servers := folderNamed("builtin/").startBoth(t)
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", *seed)
	theirs, ours := newSide(t, servers.theirs, ""), newSide(t, servers.ours, "")
	for _, k := range readKinds(t) {
		theirs.serve(k.yaml)
		ours.serve(k.yaml)
	}
	// kube-controller-manager notices new resources after half a minute.
	boxes := "/apis/lockstep.example.com/v1/namespaces/default/boxes"
	theirs.mustAsk("POST", boxes, map[string]any{"apiVersion": "lockstep.example.com/v1", "kind": "Box",
		"metadata": map[string]any{"name": "orphan", "ownerReferences": []any{absent}}, "spec": map[string]any{}})
	for start := time.Now(); len(theirs.list(boxes)) > 0 && time.Since(start) < 2*patience; {
		time.Sleep(pause)
	}
	for n := range graphs {
		g := &graph{space: fmt.Sprintf("graph-%d", n), seed: *seed + uint64(n), tree: n%2 == 0}
		t.Run(g.space, func(t *testing.T) {
			t.Parallel()
			g.play(t, newSide(t, servers.theirs, g.space), newSide(t, servers.ours, g.space))
		})
	}
}

// graph is a namespace of random objects.
type graph struct {
	space string
	seed  uint64
	// tree says that each object has one owner at most, and blocks its deletion. Then no chance decides which objects wait
	// for their dependents. Else it matters which of several objects the collector sees first: an object that waits, or is
	// gone, is an owner no more, and a dependent loses its reference to that if another owner is there still.
	tree bool
}

// play makes the graph on both servers and compares what their controllers leave of it.
func (g *graph) play(t *testing.T, theirs, ours *side) {
	deletions := g.make(theirs)
	g.make(ours)
	g.equal(t, "before deletions", theirs, ours)
	for _, path := range deletions {
		theirs.try("DELETE", path, nil)
		ours.try("DELETE", path, nil)
		g.equal(t, "after DELETE "+path, theirs, ours)
	}
	for _, s := range []*side{theirs, ours} {
		g.release(s)
	}
	g.equal(t, "at the end", theirs, ours)
	if rest := g.state(ours); len(rest) > 0 {
		t.Errorf("left over: %s", text(rest))
	}
}

// make creates the objects, and returns the paths of random deletions. They are made one after the other: what is left
// after two at a time depends on which of them a collector sees first.
func (g *graph) make(s *side) (deletions []string) {
	random := rand.New(rand.NewPCG(g.seed, 1))
	s.mustAsk("POST", "/api/v1/namespaces", map[string]any{"metadata": map[string]any{"name": g.space}})
	type object struct {
		reference map[string]any
		path      string
	}
	var all []object
	for i := range 14 {
		kind := pick(random, graphKinds)
		meta := map[string]any{"name": fmt.Sprintf("o%d", i)}
		if chance(random, 25) {
			meta["finalizers"] = []any{"example.com/held"}
		}
		var owners []any
		for _, owner := range some(random, 25, all) {
			reference := maps.Clone(owner.reference)
			reference["blockOwnerDeletion"] = chance(random, 50) || g.tree
			owners = append(owners, reference)
		}
		if g.tree {
			owners = owners[:min(len(owners), 1)]
		}
		if chance(random, 10) && len(owners) == 0 || !g.tree && chance(random, 10) {
			owners = append(owners, absent)
		}
		if len(owners) > 0 {
			meta["ownerReferences"] = owners
		}
		created := s.mustAsk("POST", fmt.Sprintf(kind.collection, g.space), map[string]any{"apiVersion": kind.apiVersion,
			"kind": kind.kind, "metadata": meta, "spec": map[string]any{}})
		uid := created["metadata"].(map[string]any)["uid"]
		all = append(all, object{map[string]any{"apiVersion": kind.apiVersion, "kind": kind.kind, "name": meta["name"],
			"uid": uid}, fmt.Sprintf(kind.collection, g.space) + "/" + meta["name"].(string)})
	}
	for _, victim := range some(random, 30, all) {
		policy := pick(random, []string{"Background", "Foreground", "Orphan"})
		deletions = append(deletions, victim.path+"?propagationPolicy="+policy)
	}
	if chance(random, 40) {
		deletions = append(deletions, "/api/v1/namespaces/"+g.space)
	}
	return deletions
}

// release deletes the namespace, and removes all finalizers of tests. A collector may change an object meanwhile.
func (g *graph) release(s *side) {
	s.try("DELETE", "/api/v1/namespaces/"+g.space, nil)
	for start := time.Now(); time.Since(start) < patience; time.Sleep(pause) {
		held := 0
		for _, kind := range graphKinds {
			collection := fmt.Sprintf(kind.collection, g.space)
			for _, item := range s.list(collection) {
				meta := item["metadata"].(map[string]any)
				if at := slices.Index(asList(meta["finalizers"]), any("example.com/held")); at >= 0 {
					held++
					path := fmt.Sprintf("/metadata/finalizers/%d", at)
					s.try("PATCH", collection+"/"+meta["name"].(string), []any{
						map[string]any{"op": "test", "path": path, "value": "example.com/held"},
						map[string]any{"op": "remove", "path": path}})
				}
			}
		}
		if held == 0 {
			return
		}
	}
	s.t.Errorf("objects in %s keep their finalizers", g.space)
}

// equal waits until both servers hold the same twice.
func (g *graph) equal(t *testing.T, when string, theirs, ours *side) {
	t.Helper()
	var before string
	for start := time.Now(); ; time.Sleep(10 * pause) {
		want, got := g.state(theirs), g.state(ours)
		if text(want) == text(got) && text(got) == before {
			return
		}
		before = text(got)
		if time.Since(start) > 2*patience {
			t.Fatalf("%s, -seed %d:\n%s", when, *seed, difference("kube-controller-manager", want, "crd-server", got))
		}
	}
}

// state describes the namespace and its objects: owners, finalizers, whether they are being deleted, and conditions.
// The owners of an object that is being deleted depend on which object of a namespace went first. So does whether it
// waits for its dependents, and which objects lose it as an owner meanwhile, unless the graph is a tree.
func (g *graph) state(s *side) (lines []string) {
	for _, space := range s.list("/api/v1/namespaces?fieldSelector=metadata.name=" + g.space) {
		status, _ := space["status"].(map[string]any)
		lines = append(lines, fmt.Sprintf("namespace %v %v", status["phase"], space["spec"]))
		for _, each := range asList(status["conditions"]) {
			c := each.(map[string]any)
			lines = append(lines, fmt.Sprint("  ", c["type"], " ", c["status"], " ", c["reason"], " ", c["message"]))
		}
	}
	items, goes := g.objects(s)
	for _, kind := range graphKinds {
		for _, item := range items[kind.kind] {
			meta := item["metadata"].(map[string]any)
			var owners []string
			for _, owner := range asList(meta["ownerReferences"]) {
				name := fmt.Sprint(owner.(map[string]any)["name"])
				if meta["deletionTimestamp"] == nil && (g.tree || !goes[name]) {
					owners = append(owners, name)
				}
			}
			finalizers := slices.Sorted(func(yield func(string) bool) {
				for _, f := range asList(meta["finalizers"]) {
					waits := meta["deletionTimestamp"] != nil && f == "foregroundDeletion"
					if (g.tree || !waits) && !yield(fmt.Sprint(f)) {
						return
					}
				}
			})
			if len(finalizers) == 0 && meta["deletionTimestamp"] != nil {
				continue // it goes
			}
			if !g.tree && meta["deletionTimestamp"] == nil && len(owners) == 0 && len(asList(meta["ownerReferences"])) > 0 {
				continue // it stays or goes, depending on which of its owners the collector sees first
			}
			lines = append(lines, fmt.Sprint(kind.kind, " ", meta["name"], " owners ", owners, " finalizers ", finalizers,
				" deleted ", meta["deletionTimestamp"] != nil))
		}
	}
	return lines
}

// objects returns the objects by kind, and the names of those that are being deleted.
func (g *graph) objects(s *side) (items map[string][]map[string]any, goes map[string]bool) {
	items, goes = map[string][]map[string]any{}, map[string]bool{}
	for _, kind := range graphKinds {
		items[kind.kind] = s.list(fmt.Sprintf(kind.collection, g.space))
		for _, item := range items[kind.kind] {
			meta := item["metadata"].(map[string]any)
			goes[fmt.Sprint(meta["name"])] = meta["deletionTimestamp"] != nil
		}
	}
	return items, goes
}

func asList(value any) []any {
	list, _ := value.([]any)
	return list
}

// list returns the items of a collection.
func (s *side) list(path string) (items []map[string]any) {
	_, object := s.try("GET", path, nil)
	for _, item := range asList(object["items"]) {
		items = append(items, item.(map[string]any))
	}
	return items
}

// mustAsk sends a request that must succeed, and returns the response.
func (s *side) mustAsk(method, path string, body any) map[string]any {
	s.t.Helper()
	code, object := s.try(method, path, body)
	if code != http.StatusCreated {
		s.t.Fatalf("%s %s: %d %v", method, path, code, object)
	}
	return object
}

// try sends a request and returns the code and the response.
func (s *side) try(method, path string, body any) (code int, object map[string]any) {
	s.t.Helper()
	mediaType := "application/json"
	if method == "PATCH" {
		mediaType = mediaTypes["json"]
	}
	lines := []string{method + " " + path, "Content-Type: " + mediaType}
	if body != nil {
		lines = append(lines, "", string(encode(body)))
	}
	code, data := s.player.ask(exchange{request: lines})
	if err := json.NewDecoder(strings.NewReader(string(data))).Decode(&object); err != nil {
		s.t.Fatalf("%s %s: %d %s", method, path, code, data)
	}
	return code, object
}
