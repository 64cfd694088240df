package fault

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/process"
)

// clockRange bounds the jumps of the clock. The certificates that the server creates at its first start, at the
// earliest time, are valid for a year.
const clockRange = 150 * 24 * time.Hour

// TestClockJumps moves the wall clock of a server, and of the etcd in it, by months. Writes, reads and watches must
// continue, timestamps must follow the clock, and durations must not.
func TestClockJumps(t *testing.T) {
	besideOthers(t)
	defer written.outcome(t, time.Now())
	clock := &clock{controls: newControls(t)}
	clock.set(t, -clockRange)
	options := process.Options{Binary: altered(t), DataDir: filepath.Join(t.TempDir(), "data"), Env: clock.env()}
	server := startServer(t, options)
	c := newClient(t, server)
	c.must(t, http.StatusCreated, http.MethodPost, definitions, asJSON, []byte(definition))
	watched := c.watchRevisions(t)
	var revisions []int64
	jumps := size(3, 40)
	random := choices(t, 0)
	for n := range jumps {
		c.deleteHeldDefinition(t, n)
		by := time.Duration(random.Int64N(int64(clockRange)))
		if n%2 == 1 {
			by = -by // forward, then back
		}
		clock.set(t, by)
		revisions = append(revisions, c.writeAt(t, clock, fmt.Sprintf("cell-%d", n))...)
		c.readAt(t, n+1)
		c.letDefinitionGo(t, n)
	}
	for n, want := range revisions {
		select {
		case got := <-watched:
			if got != want {
				t.Fatalf("event %d of the watch is revision %d, not %d", n, got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("event %d of the watch is missing", n)
		}
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	clock.set(t, -clockRange)
	newClient(t, startServer(t, options)).readAt(t, jumps)
	written.add(t, "%d jumps of the clock by up to %d days; %d writes, all of them watched", jumps,
		int(2*clockRange.Hours()/24), len(revisions))
}

// writeAt writes an object at the current offset of the clock and returns the revisions.
func (c *client) writeAt(t *testing.T, clock *clock, name string) (revisions []int64) {
	t.Helper()
	began := clock.now().Truncate(time.Second) // timestamps count seconds
	wrote := func(code int, method, path, mediaType string, content []byte) {
		t.Helper()
		var o struct {
			object
			Metadata struct{ CreationTimestamp time.Time } `json:"metadata"`
		}
		answer := c.must(t, code, method, path, mediaType, content)
		if err := json.Unmarshal(answer, &o); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(answer, &o.object); err != nil {
			t.Fatal(err)
		}
		if created := o.Metadata.CreationTimestamp; created.Before(began) || created.After(clock.now()) {
			t.Errorf("created at %s, between %s and %s", created, began, clock.now())
		}
		revisions = append(revisions, o.revision())
	}
	wrote(http.StatusCreated, http.MethodPost, cells, asJSON, body(name, "created", 0))
	wrote(http.StatusOK, http.MethodPatch, cells+"/"+name, asMergePatch, []byte(`{"spec":{"value":"patched"}}`))
	wrote(http.StatusOK, http.MethodPatch, cells+"/"+name+"?fieldManager=fault&force=true", asApply,
		body(name, "applied", 0))
	return revisions
}

// readAt reads all objects by get, in pages, and by a watch of one second.
func (c *client) readAt(t *testing.T, objects int) {
	t.Helper()
	waitFor(t, "the server is ready", func() bool { return c.isReady(t.Context()) })
	var o object
	if err := json.Unmarshal(c.must(t, http.StatusOK, http.MethodGet, fmt.Sprintf("%s/cell-%d", cells, objects-1), "",
		nil), &o); err != nil || o.Spec.Value != "applied" {
		t.Errorf("%+v, %v", o, err)
	}
	page := c.ask(t, http.MethodGet, cells+"?limit=1", nil)
	found := len(page.Items)
	if page.Metadata.Continue != "" {
		found += len(c.ask(t, http.MethodGet, cells+"?continue="+page.Metadata.Continue, nil).Items)
	}
	if found != objects {
		t.Errorf("%d of %d objects are listed", found, objects)
	}
	began := time.Now()
	c.must(t, http.StatusOK, http.MethodGet,
		cells+"?watch=true&timeoutSeconds=1&resourceVersion="+page.Metadata.ResourceVersion, "", nil)
	if took := time.Since(began); took < time.Second {
		t.Errorf("a watch of a second took %s", took)
	}
}

// deleteHeldDefinition deletes a CRD that has a finalizer.
func (c *client) deleteHeldDefinition(t *testing.T, n int) {
	t.Helper()
	name := fmt.Sprintf("held%d", n)
	held := strings.NewReplacer(`"metadata":{"name":"cells.`,
		`"metadata":{"finalizers":["fault.example.com/hold"],"name":"`+name+`.`,
		`"plural":"cells"`, `"plural":"`+name+`"`, `"cell"`, `"`+name+`"`, `"Cell`,
		`"`+strings.ToUpper(name)).Replace(definition)
	c.must(t, http.StatusCreated, http.MethodPost, definitions, asJSON, []byte(held))
	c.must(t, http.StatusOK, http.MethodDelete, definitions+"/"+name+"."+group, "", nil)
}

// letDefinitionGo waits until only the finalizer keeps the CRD, and removes it.
func (c *client) letDefinitionGo(t *testing.T, n int) {
	t.Helper()
	path := fmt.Sprintf("%s/held%d.%s", definitions, n, group)
	waitFor(t, "the CRD's objects are said to be gone", func() bool {
		return !strings.Contains(string(c.must(t, http.StatusOK, http.MethodGet, path, "", nil)),
			"customresourcecleanup")
	})
	c.must(t, http.StatusOK, http.MethodPatch, path, asMergePatch, []byte(`{"metadata":{"finalizers":null}}`))
	waitFor(t, "the CRD is gone", func() bool {
		return c.ask(t, http.MethodGet, path,
			nil).code == http.StatusNotFound
	})
}

// watchRevisions watches until the test ends.
func (c *client) watchRevisions(t *testing.T) <-chan int64 {
	t.Helper()
	resp, err := c.open(t.Context(), http.MethodGet, cells+"?watch=true&resourceVersion=0", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	revisions := make(chan int64)
	go func() { // ends with the test's context
		defer close(revisions)
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			var event struct{ Object object }
			if json.Unmarshal(lines.Bytes(), &event) != nil {
				return
			}
			select {
			case revisions <- event.Object.revision():
			case <-t.Context().Done():
				return
			}
		}
	}()
	return revisions
}

// clock is the wall clock of an altered server.
type clock struct {
	*controls
	by time.Duration
}

// set sets the offset of the clock, with immediate effect.
func (c *clock) set(t *testing.T, by time.Duration) {
	t.Helper()
	c.by = by.Truncate(time.Second)
	c.tell(t, clockControl, int64(c.by/time.Second))
}

func (c *clock) now() time.Time { return time.Now().Add(c.by) }
