package fault

import (
	"context"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
)

// withControllers makes a server serve built-in resources and run their controllers.
const withControllers = "--builtin-resources=essential"

// TestGarbage deletes the owners of many objects in many namespaces, while servers are killed and clients create more
// dependents. In the end exactly those objects must be left that have an owner or never had one. Objects of which no
// owner was deleted must not have changed.
func TestGarbage(t *testing.T) {
	besideOthers(t)
	for _, s := range []struct {
		name  string
		start func(t *testing.T) *fleet
		kills int
	}{
		{"calm", startAlone, 0},
		{"killed", startAlone, size(2, 20)},
		{"leader killed", startPair, size(1, 4)},
	} {
		t.Run(s.name, func(t *testing.T) {
			besideOthers(t)
			defer written.outcome(t, time.Now())
			collectGarbage(t, s.start(t), s.kills)
		})
	}
}

// collectGarbage deletes owners in turns, with a kill in each but the last one.
func collectGarbage(t *testing.T, f *fleet, kills int) {
	f.must(t, http.StatusCreated, http.MethodPost, definitions, []byte(definition))
	for _, r := range f.replicas {
		r.waitServed(t)
	}
	m := newFamilies(size(4, 100))
	m.createAll(t, f)
	random := choices(t, 0)
	doomed := m.doomed()
	random.Shuffle(len(doomed), func(i, j int) { doomed[i], doomed[j] = doomed[j], doomed[i] })
	for turn := range kills {
		now := doomed[turn*len(doomed)/(kills+1) : (turn+1)*len(doomed)/(kills+1)]
		m.deleteBesideKill(t, f, now, random)
	}
	m.deleteRoots(t.Context(), f, doomed[kills*len(doomed)/(kills+1):])
	last := time.Now()
	m.awaitCollected(t, f)
	written.add(t, "%d kills; %d objects, %d of them deleted; %d collected, the last one %s after the last deletion",
		kills, len(m.all), len(doomed), m.collected(), time.Since(last).Round(10*time.Millisecond))
	if len(f.replicas) == 1 { // a new collector looks at every object that is left
		f.kill(t, f.leader)
		f.takeOver(t)
	}
	f.awaitCollector(t)
	if wrong, left := m.compare(t, f); len(wrong) > 0 || left > 0 {
		t.Errorf("after another start %d objects are left, and these are wrong: %.2000s", left, wrong)
	}
}

// deleteBesideKill deletes roots and creates dependents while the replica that leads is killed and started again: at a
// random moment, or when it has begun to collect.
func (m *families) deleteBesideKill(t *testing.T, f *fleet, roots []*relative, random *rand.Rand) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	writing, stop := context.WithCancel(ctx)
	parents, deleted, created := m.kept(), make(chan struct{}), make(chan struct{})
	early := m.childOf(roots[random.IntN(len(roots))])
	go func() { defer close(deleted); m.deleteRoots(ctx, f, roots) }()      // ends when all are deleted
	go func() { defer close(created); m.createMore(writing, f, parents) }() // ends with stop
	if random.IntN(2) == 0 {
		pause(ctx, time.Duration(20+random.IntN(size(300, 1000)))*time.Millisecond)
	} else {
		early.awaitChange(ctx, f)
	}
	f.kill(t, f.leader)
	f.takeOver(t)
	stop()
	<-deleted
	<-created
	if ctx.Err() != nil {
		t.Fatal("owners cannot be deleted")
	}
}

// awaitCollected waits until nothing is left that has to be collected.
func (m *families) awaitCollected(t *testing.T, f *fleet) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; pause(t.Context(), size[time.Duration](50, 200)*time.Millisecond) {
		wrong, left := m.compare(t, f)
		switch {
		case len(wrong) > 0:
			t.Fatalf("objects of other owners were touched, or writes are lost: %.2000s", wrong)
		case left == 0:
			return
		case time.Now().After(deadline):
			t.Fatalf("%d objects are left", left)
		}
	}
}

// awaitCollector waits until the collector has collected a new object, and so has looked at all older ones.
func (f *fleet) awaitCollector(t *testing.T) {
	t.Helper()
	probe := &relative{kind: secretKind, namespace: "default", name: "probe", owners: []*relative{
		{kind: cellKind, namespace: "default", name: "never-created", uid: "8e4f7a7c-6f0b-4a7e-9f6e-0d6a4a1f3c55"}}}
	f.must(t, http.StatusCreated, http.MethodPost, probe.collection(), probe.body())
	for deadline := time.Now().Add(patience); ; pause(t.Context(), 20*time.Millisecond) {
		code, _, err := f.do(t.Context(), f.leader, http.MethodGet, probe.path(), nil)
		switch {
		case err == nil && code == http.StatusNotFound:
			return
		case time.Now().After(deadline):
			t.Fatalf("the collector does not work: %d %v", code, err)
		}
	}
}

// startAlone starts one server with its embedded etcd.
func startAlone(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{}
	f.add(t, process.Options{Binary: programs.Server(), DataDir: filepath.Join(t.TempDir(), "data"),
		Args: []string{withControllers}})
	return f
}

// startPair starts two servers on one etcd. The first one leads.
func startPair(t *testing.T) *fleet {
	t.Helper()
	return startOnEtcd(t, 2)
}
