package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// heldFinalizer is a finalizer of some objects.
const heldFinalizer = "fault.example.com/holding"

// TestNamespaces deletes and creates namespaces again and again while clients create objects in them, some with
// finalizers, and while the server is killed. The log of etcd must show that no namespace leaves objects behind, that
// none takes new objects once it is being deleted, and that all acknowledged objects stay until then.
func TestNamespaces(t *testing.T) {
	besideOthers(t)
	defer written.outcome(t, time.Now())
	f := startOnEtcd(t, 1)
	f.must(t, http.StatusCreated, http.MethodPost, definitions, []byte(definition))
	f.replicas[0].waitServed(t)
	f.awaitLeader(t, "")
	n := &fleeting{fleet: f, uids: map[string]string{}, created: map[string]int64{}}
	for i := range size(4, 20) {
		n.names = append(n.names, fmt.Sprintf("fleeting-%d", i))
	}
	kills, random := size(2, 10), choices(t, 0)
	for _, name := range n.names {
		n.ensure(t.Context(), name)
	}
	for range kills {
		n.turn(t, random)
	}
	n.endAll(t)
	n.checkLog(t)
	written.add(t, "%d kills, %d namespaces deleted, %d creations in them acknowledged, %d refused", kills,
		n.ended, len(n.created), n.refused)
}

// fleeting are namespaces that are deleted and created again.
type fleeting struct {
	*fleet
	names []string

	mu sync.Mutex // guards the fields below
	// uids are those of the namespaces that exist, by name.
	uids map[string]string
	// created has the revisions of acknowledged creations, by path.
	created                  map[string]int64
	attempts, refused, ended int
}

// turn deletes all namespaces and creates them again, while clients create objects and the server is killed.
func (n *fleeting) turn(t *testing.T, random *rand.Rand) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	writing, stop := context.WithCancel(ctx)
	var writers, deleting sync.WaitGroup
	for range 4 {
		source := rand.New(rand.NewPCG(random.Uint64(), 0))
		writers.Go(func() { n.fill(writing, source) })
	}
	pause(ctx, 100*time.Millisecond)
	for _, name := range n.names {
		deleting.Go(func() { n.renew(ctx, name) })
	}
	pause(ctx, time.Duration(random.IntN(size(200, 500)))*time.Millisecond)
	n.kill(t, n.leader)
	n.takeOver(t)
	writers.Go(func() { n.release(writing) })
	deleting.Wait()
	pause(ctx, 50*time.Millisecond) // some objects are created in the new namespaces
	stop()
	writers.Wait()
	if ctx.Err() != nil {
		t.Fatalf("namespaces do not end: %s", n.must(t, http.StatusOK, http.MethodGet, "/api/v1/namespaces", nil))
	}
}

// fill creates objects in random namespaces until ctx is done.
func (n *fleeting) fill(ctx context.Context, random *rand.Rand) {
	for ; ctx.Err() == nil; pause(ctx, 5*time.Millisecond) {
		at := random.IntN(len(n.names))
		n.mu.Lock()
		n.attempts++
		r := &relative{kind: []kind{cellKind, secretKind, configMapKind}[random.IntN(3)], namespace: n.names[at],
			name: fmt.Sprintf("object-%d", n.attempts)}
		n.mu.Unlock()
		body := r.body()
		if at%2 == 0 && random.IntN(5) == 0 {
			body = bytes.Replace(body, []byte(`"metadata":{`), []byte(`"metadata":{"finalizers":["`+heldFinalizer+`"],`), 1)
		}
		code, answer, err := n.do(ctx, n.leader, http.MethodPost, r.collection(), body)
		var o object
		if err == nil && code == http.StatusCreated {
			err = json.Unmarshal(answer, &o)
		}
		n.mu.Lock()
		switch {
		case err != nil || code >= 500:
		case code == http.StatusCreated:
			n.created[r.path()] = o.revision()
		default:
			n.refused++
		}
		n.mu.Unlock()
	}
}

// renew deletes a namespace, waits until it is gone, and creates it again.
func (n *fleeting) renew(ctx context.Context, name string) {
	n.mu.Lock()
	before := n.uids[name]
	n.mu.Unlock()
	_, _, _ = n.insist(ctx, http.MethodDelete, "/api/v1/namespaces/"+name,
		fmt.Appendf(nil, `{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":%q}}`, before))
	n.ensure(ctx, name)
}

// ensure creates a namespace, if necessary after the end of the one before.
func (n *fleeting) ensure(ctx context.Context, name string) {
	for ; ctx.Err() == nil; pause(ctx, 10*time.Millisecond) {
		code, _, _ := n.insist(ctx, http.MethodPost, "/api/v1/namespaces",
			fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name))
		if code != http.StatusCreated && code != http.StatusConflict {
			continue
		}
		_, answer, _ := n.insist(ctx, http.MethodGet, "/api/v1/namespaces/"+name, nil)
		var found struct{ Metadata listed }
		if json.Unmarshal(answer, &found) != nil || found.Metadata.UID == "" {
			continue
		}
		n.mu.Lock()
		renewed := found.Metadata.UID != n.uids[name]
		if renewed && n.uids[name] != "" {
			n.ended++
		}
		n.uids[name] = found.Metadata.UID
		n.mu.Unlock()
		if renewed {
			return
		}
	}
}

// release removes the finalizer of all objects that are being deleted, until ctx is done.
func (n *fleeting) release(ctx context.Context) {
	for ; ctx.Err() == nil; pause(ctx, 20*time.Millisecond) {
		for _, k := range []kind{cellKind, secretKind, configMapKind} {
			_, answer, err := n.do(ctx, n.leader, http.MethodGet, k.prefix+"/"+k.plural, nil)
			var list struct{ Items []struct{ Metadata listed } }
			if err != nil || json.Unmarshal(answer, &list) != nil {
				continue
			}
			for _, item := range list.Items {
				r := relative{kind: k, namespace: item.Metadata.Namespace, name: item.Metadata.Name}
				if item.Metadata.DeletionTimestamp != "" {
					_, _, _ = n.do(ctx, n.leader, http.MethodPatch, r.path(), []byte(`{"metadata":{"finalizers":null}}`))
				}
			}
		}
	}
}

// endAll deletes all namespaces, waits until they are gone, and checks that etcd has no keys of them.
func (n *fleeting) endAll(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	releasing, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { n.release(releasing) })
	defer func() { stop(); running.Wait(); cancel() }()
	for _, name := range n.names {
		n.must(t, http.StatusOK, http.MethodDelete, "/api/v1/namespaces/"+name, nil)
	}
	for _, name := range n.names {
		for code := 0; code != http.StatusNotFound; pause(ctx, 20*time.Millisecond) {
			var answer []byte
			if code, answer, _ = n.insist(ctx, http.MethodGet, "/api/v1/namespaces/"+name, nil); ctx.Err() != nil {
				t.Fatalf("a namespace does not end: %s", answer)
			}
		}
		n.ended++
	}
	resp, err := n.cluster.Client.Get(ctx, "/registry/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range resp.Kvs {
		if strings.Contains(string(kv.Key)+"/", "/fleeting-") {
			t.Errorf("etcd still has %s", kv.Key)
		}
	}
}

// state is that of a namespace at a revision.
type state struct {
	exists, deleting bool
	objects          map[string]bool
}

// checkLog checks every change that etcd has logged.
func (n *fleeting) checkLog(t *testing.T) {
	t.Helper()
	states := map[string]*state{}
	for _, name := range n.names {
		states[name] = &state{objects: map[string]bool{}}
	}
	creations := map[string]bool{}
	for _, event := range logOf(t, n.fleet) {
		parts := strings.Split(string(event.Kv.Key), "/")
		if len(parts) < 4 {
			continue
		}
		if s := states[parts[3]]; s != nil && parts[2] == "namespaces" {
			s.changed(t, event)
		} else if s := states[parts[len(parts)-2]]; s != nil && len(parts) > 4 {
			s.objectChanged(t, event)
			if event.IsCreate() {
				creations[parts[len(parts)-1]+"@"+strconv.FormatInt(event.Kv.ModRevision, 10)] = true
			}
		}
	}
	for path, revision := range n.created {
		if !creations[path[strings.LastIndexByte(path, '/')+1:]+"@"+strconv.FormatInt(revision, 10)] {
			t.Errorf("the creation of %s was acknowledged with revision %d; etcd has no such change", path, revision)
		}
	}
}

// changed checks a change of a namespace.
func (s *state) changed(t *testing.T, event *clientv3.Event) {
	t.Helper()
	if event.Type == clientv3.EventTypeDelete || event.IsCreate() {
		if len(s.objects) > 0 {
			t.Errorf("at revision %d %s has objects: %v", event.Kv.ModRevision, event.Kv.Key, s.objects)
		}
	}
	var namespace object
	if event.Type == clientv3.EventTypePut {
		if err := json.Unmarshal(event.Kv.Value, &namespace); err != nil {
			t.Errorf("%s: %v", event.Kv.Key, err)
		}
	}
	s.exists, s.deleting = event.Type == clientv3.EventTypePut, namespace.Metadata.DeletionTimestamp != ""
}

// objectChanged checks a change of an object in a namespace.
func (s *state) objectChanged(t *testing.T, event *clientv3.Event) {
	t.Helper()
	key := string(event.Kv.Key)
	switch {
	case event.IsCreate():
		s.objects[key] = true
		if !s.exists || s.deleting {
			t.Errorf("%s was created at revision %d; its namespace: %t, being deleted: %t", key, event.Kv.ModRevision,
				s.exists, s.deleting)
		}
	case event.Type == clientv3.EventTypeDelete:
		delete(s.objects, key)
		if !s.deleting {
			t.Errorf("%s was deleted at revision %d; its namespace is not being deleted", key, event.Kv.ModRevision)
		}
	}
}

// logOf returns all changes in etcd.
func logOf(t *testing.T, f *fleet) (events []*clientv3.Event) {
	t.Helper()
	const end = "/registry-end"
	if _, err := f.cluster.Client.Put(t.Context(), end, ""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for resp := range f.cluster.Client.Watch(ctx, "/registry", clientv3.WithPrefix(), clientv3.WithRev(1)) {
		if err := resp.Err(); err != nil {
			t.Fatal(err)
		}
		for _, event := range resp.Events {
			if string(event.Kv.Key) == end {
				return events
			}
			events = append(events, event)
		}
	}
	t.Fatal("etcd does not show its log")
	return nil
}
