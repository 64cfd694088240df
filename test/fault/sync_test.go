package fault

import (
	"context"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/process"
)

const (
	slowSync = 200 * time.Millisecond
	// hungSync is longer than the test.
	hungSync = time.Hour
)

// TestSlowSync delays every sync of the log and the database of etcd. Writes must take as long, and fail with a
// response when it takes too long; reads from the cache must work. The server must recover without a restart, and
// acknowledged writes must survive a kill.
func TestSlowSync(t *testing.T) {
	besideOthers(t)
	defer written.outcome(t, time.Now())
	disk := newControls(t)
	options := process.Options{Binary: altered(t), DataDir: filepath.Join(t.TempDir(), "data"), Env: disk.env()}
	server := startServer(t, options)
	options.Port = server.Port()
	c := newClient(t, server)
	c.must(t, http.StatusCreated, http.MethodPost, definitions, asJSON, []byte(definition))
	writers := newWriters(t, 8)
	writeFor(t, c, writers, time.Second)
	c.must(t, http.StatusOK, http.MethodGet, cells, "", nil) // from now on they are in memory

	disk.tell(t, syncControl, int64(slowSync))
	slowest := writeFor(t, c, writers, size(3*time.Second, 20*time.Second))
	if slowest < slowSync {
		t.Errorf("no write took longer than %s, a sync takes %s", slowest, slowSync)
	}

	disk.tell(t, syncControl, int64(hungSync)) // responses from now on do not wait for the sync
	brief := c.ask(t, http.MethodPost, cells+"?timeout=3s", body("brief", "brief", 0))
	patient := c.ask(t, http.MethodPost, cells, body("patient", "patient", 0)) // until the timeout of etcd
	if brief.code < http.StatusInternalServerError || patient.code < http.StatusInternalServerError {
		t.Errorf("writes to a disk that hangs: %+v, %+v", brief, patient)
	}
	c.must(t, http.StatusOK, http.MethodGet, cells+"?resourceVersion=0", "", nil)

	disk.tell(t, syncControl, 0)
	well := time.Now()
	waitFor(t, "objects can be written", func() bool {
		code, _, err := c.do(t.Context(), http.MethodPatch, cells+"/after?fieldManager=fault", asApply,
			body("after", "after", 0))
		return err == nil && code < http.StatusMultipleChoices && c.isReady(t.Context())
	})
	back := time.Since(well)
	for _, name := range []string{"after", "brief", "patient"} { // checkWriters covers only the objects of the writers
		if code, answer, err := c.do(t.Context(), http.MethodDelete, cells+"/"+name, "", nil); err != nil ||
			code != http.StatusOK && (name == "after" || code != http.StatusNotFound) {
			t.Errorf("deleting %s: %d %v %.300s", name, code, err, answer)
		}
	}
	writeFor(t, c, writers, time.Second)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	checkWriters(t, newClient(t, startServer(t, options)), writers)
	acknowledged, _ := counted(writers)
	written.add(t,
		"%d writes acknowledged; with %s for a sync the slowest took %s; while it hangs a write of 3s gets %d, one that "+
			"waits %d %s; well again %s after the disk",
		acknowledged, slowSync, slowest.Round(time.Millisecond), brief.code, patient.code, patient.Message,
		back.Round(time.Millisecond))
}

// writeFor lets writers write for a while. All writes must succeed.
func writeFor(t *testing.T, c *client, writers []*writer, d time.Duration) (slowest time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	return writeUntil(t, ctx, c, writers)
}
