package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"

	corev1 "k8s.io/api/core/v1"

	"github.com/crd-server/crd-server/internal/etcdtest"
)

const quotasPath = "/api/v1/namespaces/default/resourcequotas"

// createQuota creates a quota, and waits until it is enforced. hard has names and quantities.
func (p *person) createQuota(name string, hard map[string]string) {
	p.t.Helper()
	limits, err := json.Marshal(hard)
	if err != nil {
		p.t.Fatal(err)
	}
	quota := fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"hard":%s}}`, name, limits)
	p.must(http.StatusCreated, http.MethodPost, quotasPath, quota)
	p.becomes(http.StatusOK, quotasPath+"/"+name, `"used":{`)
}

// used returns the usage in the status of a quota.
func (p *person) used(name string) map[corev1.ResourceName]string {
	p.t.Helper()
	var quota corev1.ResourceQuota
	got := p.must(http.StatusOK, http.MethodGet, quotasPath+"/"+name, "")
	if err := json.Unmarshal([]byte(got.body), &quota); err != nil {
		p.t.Fatal(err)
	}
	used := map[corev1.ResourceName]string{}
	for name, quantity := range quota.Status.Used {
		used[name] = quantity.String()
	}
	return used
}

// refused sends a request that must exceed a quota.
func (p *person) refused(message, method, path, body string, headers ...string) {
	p.t.Helper()
	var status struct{ Reason, Message string }
	got := p.must(http.StatusForbidden, method, path, body, headers...)
	if err := json.Unmarshal([]byte(got.body), &status); err != nil {
		p.t.Fatal(err)
	}
	if status.Reason != "Forbidden" || status.Message != message {
		p.t.Errorf("%s %s: %s: %s\nwant: %s", method, path, status.Reason, status.Message, message)
	}
}

// onlyAsked is the flag of a server that writes no objects that nobody has asked for into namespaces.
const onlyAsked = "--controllers=*,-serviceaccount-controller,-root-ca-certificate-publisher-controller"

// exceeds is the message that refuses an object because of a quota that is used up.
func exceeds(resource, object, quota, counted string, hard int) string {
	return fmt.Sprintf("%s %q is forbidden: exceeded quota: %s, requested: %s=1, used: %[4]s=%[5]d, limited: %[4]s=%[5]d",
		resource, object, quota, counted, hard)
}

// TestQuotas checks every way to create an object that a quota counts, and that a deletion makes room for another one.
func TestQuotas(t *testing.T) {
	t.Parallel()
	p := startWhole(t, onlyAsked).root().withTables()
	const (
		maps    = configMapsPath
		secrets = "/api/v1/namespaces/default/secrets"
		leases  = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	)
	p.must(http.StatusCreated, http.MethodPost, maps, `{"metadata":{"name":"a"}}`)
	p.createQuota("q", map[string]string{
		"configmaps": "3", "count/configmaps": "2", "count/tables.shop.example.com": "1",
		"count/leases.coordination.k8s.io": "1", "count/absent.example.com": "1", "pods": "1",
	})
	p.createQuota("r", map[string]string{"count/secrets": "1", "resourcequotas": "2"})
	want := fmt.Sprint(map[string]string{
		"configmaps": "1", "count/configmaps": "1", "count/tables.shop.example.com": "0",
		"count/leases.coordination.k8s.io": "0", "pods": "0",
	})
	if got := fmt.Sprint(p.used("q")); got != want {
		t.Errorf("used %s, want %s", got, want)
	}

	p.must(http.StatusCreated, http.MethodPost, maps+"?dryRun=All", `{"metadata":{"name":"b"}}`)
	p.must(http.StatusCreated, http.MethodPost, maps, `{"metadata":{"generateName":"b"}}`)
	full := exceeds("configmaps", "c", "q", "count/configmaps", 2)
	for _, query := range []string{"?fieldManager=m", "?fieldManager=m&dryRun=All"} {
		p.refused(full, http.MethodPost, maps+query, `{"metadata":{"name":"c"}}`)
		p.refused(full, http.MethodPatch, maps+"/c"+query,
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}`, "Content-Type", "application/apply-patch+yaml")
	}
	p.must(http.StatusCreated, http.MethodPost, tablesPath, table("one", 4))
	p.refused(exceeds("tables.shop.example.com", "two", "q", "count/tables.shop.example.com", 1),
		http.MethodPost, tablesPath, table("two", 4))
	p.must(http.StatusCreated, http.MethodPut, leases+"/l", `{"metadata":{"name":"l"}}`)
	p.refused(exceeds("leases.coordination.k8s.io", "m", "q", "count/leases.coordination.k8s.io", 1),
		http.MethodPut, leases+"/m", `{"metadata":{"name":"m"}}`)
	p.must(http.StatusCreated, http.MethodPost, secrets, `{"metadata":{"name":"s"}}`)
	p.refused(exceeds("secrets", "t", "r", "count/secrets", 1), http.MethodPost, secrets, `{"metadata":{"name":"t"}}`)
	p.refused(exceeds("resourcequotas", "s", "r", "resourcequotas", 2),
		http.MethodPost, quotasPath, `{"metadata":{"name":"s"}}`)

	p.must(http.StatusOK, http.MethodPatch, maps+"/a", `{"data":{"k":"v"}}`, mergePatch...)
	p.must(http.StatusOK, http.MethodDelete, maps+"/a", "")
	p.must(http.StatusOK, http.MethodDelete, tablesPath+"/one", "")
	waitUntil(t, "the deletions are counted", func() bool {
		used := p.used("q")
		return used["count/configmaps"] == "1" && used["configmaps"] == "1" && used["count/tables.shop.example.com"] == "0"
	})
	p.must(http.StatusCreated, http.MethodPost, maps, `{"metadata":{"name":"c"}}`)
	p.must(http.StatusCreated, http.MethodPost, tablesPath, table("two", 4))

	p.must(http.StatusOK, http.MethodPatch, quotasPath+"/q", `{"spec":{"hard":{"count/configmaps":"3"}}}`, mergePatch...)
	waitUntil(t, "the new limit is in the status", func() bool {
		return p.send(http.MethodPost, maps, `{"metadata":{"name":"d"}}`).code == http.StatusCreated
	})
}

// TestQuotaOfLaterKind checks that objects of a kind are refused while its usage is not known, and then counted.
func TestQuotaOfLaterKind(t *testing.T) {
	t.Parallel()
	p := startWhole(t).root()
	p.createQuota("q", map[string]string{"count/tables.shop.example.com": "1", "secrets": "1"})
	p.withTables()
	p.becomes(http.StatusOK, quotasPath+"/q", `"count/tables.shop.example.com":"0"`)
	p.must(http.StatusCreated, http.MethodPost, tablesPath, table("one", 4))
	p.must(http.StatusForbidden, http.MethodPost, tablesPath, table("two", 4))
}

// TestQuotaPluginDisabled checks that quotas are still counted without the plugin, but not enforced.
func TestQuotaPluginDisabled(t *testing.T) {
	t.Parallel()
	p := startWhole(t, "--disable-admission-plugins=ResourceQuota").root()
	p.createQuota("q", map[string]string{"count/configmaps": "0"})
	p.must(http.StatusCreated, http.MethodPost, configMapsPath, `{"metadata":{"name":"a"}}`)
}

// TestQuotaOnReplicas creates and deletes objects at two replicas at once. There must never be more than the quota
// allows, and the usage must be right in the end.
func TestQuotaOnReplicas(t *testing.T) {
	t.Parallel()
	etcd := etcdtest.New(t, func(c *embed.Config) {
		c.ListenClientUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	})
	r := replicas{}
	for n := range r {
		r[n] = startWhole(t, onlyAsked, "--etcd-servers", "http://"+etcd.Addr().String()).root()
	}
	const hard = 5
	p := r[0]
	p.createQuota("q", map[string]string{"count/configmaps": fmt.Sprint(hard)})
	if created := r.race(nil); created != hard {
		t.Errorf("%d objects were created, want %d", created, hard)
	}
	for range 5 {
		present := p.configMaps()
		r.race(present[:2])
		left := len(p.configMaps())
		if left > hard {
			t.Fatalf("%d objects, want at most %d", left, hard)
		}
		waitUntil(t, "the deletions are counted", func() bool { return p.used("q")["count/configmaps"] == fmt.Sprint(left) })
		if created := r.race(nil); created != hard-left {
			t.Errorf("%d objects were created beside %d, want %d", created, left, hard-left)
		}
	}
}

const configMapsPath = "/api/v1/namespaces/default/configmaps"

// configMaps returns the names of the config maps.
func (p *person) configMaps() (names []string) {
	p.t.Helper()
	var list corev1.ConfigMapList
	if err := json.Unmarshal([]byte(p.must(http.StatusOK, http.MethodGet, configMapsPath, "").body), &list); err != nil {
		p.t.Fatal(err)
	}
	for n := range list.Items {
		names = append(names, list.Items[n].Name)
	}
	return names
}

// replicas are clients of servers on one etcd.
type replicas [2]*person

// race creates config maps at all replicas at once, and meanwhile deletes others. It returns how many it has created;
// the quota q may refuse the others.
func (r *replicas) race(deleted []string) int {
	var created atomic.Int64
	var running sync.WaitGroup
	for n := range 16 {
		p := r[n%len(r)]
		running.Go(func() {
			got := p.send(http.MethodPost, configMapsPath, `{"metadata":{"generateName":"m"}}`)
			switch {
			case got.code == http.StatusCreated:
				created.Add(1)
			case got.code != http.StatusForbidden || !strings.Contains(got.body, "exceeded quota: q"):
				p.t.Errorf("%d %s", got.code, got.body)
			}
		})
	}
	for n, name := range deleted {
		p := r[n%len(r)]
		running.Go(func() {
			if got := p.send(http.MethodDelete, configMapsPath+"/"+name, ""); got.code != http.StatusOK {
				p.t.Errorf("%d %s", got.code, got.body)
			}
		})
	}
	running.Wait()
	return int(created.Load())
}
