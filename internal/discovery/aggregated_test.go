package discovery

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/discovery"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"

	"github.com/crd-server/crd-server/internal/crds"
)

const (
	asList      = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	asJSON      = "application/json" + asList
	asProtobuf  = "application/vnd.kubernetes.protobuf" + asList
	asYAML      = "application/yaml" + asList
	asBeta      = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
	kubectlWant = asJSON + "," + asBeta + ",application/json"
)

// upstream returns upstream's own handler for the same groups.
func upstream(t *testing.T, d *Discovery) http.Handler {
	t.Helper()
	manager := aggregated.NewResourceManager("apis")
	legacy := discovery.NewRootAPIsHandler(discovery.DefaultAddresses{}, crds.Codecs)
	for _, g := range d.current.Load().groups() {
		for _, v := range g.aggregated().Versions {
			manager.AddGroupVersion(g.name, v)
			priority := 1000
			if g.name == crds.GroupName {
				priority = 16700
			}
			manager.SetGroupVersionPriority(metav1.GroupVersion{Group: g.name, Version: v.Version}, priority, 100)
		}
	}
	return aggregated.WrapAggregatedDiscoveryToHandler(legacy, manager, nil)
}

func TestAggregatedEqualsUpstream(t *testing.T) {
	t.Parallel()
	d, _ := newFixture(t, widgets, gadgets, acmes)
	want, h := upstream(t, d), handler(d)
	for _, accept := range []string{asJSON, asProtobuf, asYAML, kubectlWant, asBeta, asJSON + ";profile=nopeer",
		asProtobuf + "," + asJSON, "application/json, " + asJSON, "text/html", "*/*"} {
		for _, path := range []string{"/apis", "/apis?pretty=1"} {
			theirs, ours := get(t, want, path, "Accept", accept), get(t, h, path, "Accept", accept)
			if theirs.StatusCode != ours.StatusCode {
				t.Errorf("%s: status %d, upstream %d", accept, ours.StatusCode, theirs.StatusCode)
				continue
			}
			for _, name := range []string{"Content-Type", "Vary", "Cache-Control"} {
				if diff := cmp.Diff(theirs.Header.Values(name), ours.Header.Values(name)); diff != "" {
					t.Errorf("%s: %s -upstream +ours\n%s", accept, name, diff)
				}
			}
			if theirs.Header.Get("Etag") == "" {
				continue // other tests cover the older form
			}
			if diff := cmp.Diff(string(theirs.body), string(ours.body)); diff != "" {
				t.Errorf("%s: -upstream +ours\n%s", accept, diff)
			}
		}
	}
}

func TestAggregatedContent(t *testing.T) {
	t.Parallel()
	d, _ := newFixture(t, widgets)
	got := get(t, handler(d), "/apis", "Accept", asProtobuf).expect(t, http.StatusOK)
	decoded, err := runtime.Decode(aggregatedCodecs.UniversalDeserializer(), got.body)
	if err != nil {
		t.Fatal(err)
	}
	kind := &metav1.GroupVersionKind{Group: "stable.example.com", Version: "v1", Kind: "Widget"}
	want := apidiscoveryv2.APIVersionDiscovery{
		Version: "v1", Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent,
		Resources: []apidiscoveryv2.APIResourceDiscovery{{
			Resource: "widgets", SingularResource: "widget", Scope: apidiscoveryv2.ScopeNamespace, ResponseKind: kind,
			Verbs: verbs, ShortNames: []string{"wd"}, Categories: []string{"all"},
			Subresources: []apidiscoveryv2.APISubresourceDiscovery{
				{Subresource: "status", ResponseKind: kind, Verbs: subresourceVerbs},
				{Subresource: "scale", ResponseKind: &metav1.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"},
					Verbs: subresourceVerbs},
			},
		}},
	}
	list := decoded.(*apidiscoveryv2.APIGroupDiscoveryList)
	if len(list.Items) != 2 || list.Items[0].Name != "apiextensions.k8s.io" || list.Items[1].Name != "stable.example.com" {
		t.Fatalf("groups: %+v", list.Items)
	}
	if diff := cmp.Diff(want, list.Items[1].Versions[0]); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if got := len(list.Items[1].Versions); got != 2 {
		t.Errorf("%d versions", got)
	}
}

// TestAtOnce checks that responses at the same time do not affect one another: an encoder sets the kind of an object,
// and takes it away again.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	d, _ := newFixture(t, widgets)
	h := handler(d)
	for _, accept := range []string{kubectlWant, "application/json"} {
		for _, path := range []string{"/api", "/apis", "/api/v1", "/apis/stable.example.com", "/apis/stable.example.com/v1"} {
			want := string(get(t, h, path, "Accept", accept).expect(t, http.StatusOK).body)
			var clients sync.WaitGroup
			for range 4 {
				clients.Go(func() {
					for range 20 {
						if got := string(get(t, h, path, "Accept", accept).body); got != want {
							t.Errorf("%s: got %s, want %s", path, got, want)
						}
					}
				})
			}
			clients.Wait()
		}
	}
}

// TestAggregatedCore checks that core/v1 is listed without resources: kubectl takes the kind List from every version.
func TestAggregatedCore(t *testing.T) {
	t.Parallel()
	d, _ := newFixture(t, widgets)
	got := get(t, handler(d), "/api", "Accept", kubectlWant).expect(t, http.StatusOK)
	want := `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[` +
		`{"metadata":{},"versions":[{"version":"v1","freshness":"Current"}]}]}` + "\n"
	if string(got.body) != want {
		t.Errorf("got %s", got.body)
	}
}

func TestAggregatedETag(t *testing.T) {
	t.Parallel()
	d, table := newFixture(t, widgets)
	h := handler(d)
	first := get(t, h, "/apis", "Accept", asJSON).expect(t, http.StatusOK).Header.Get("Etag")
	same := get(t, h, "/apis", "Accept", asJSON, "If-None-Match", first).expect(t, http.StatusNotModified)
	if len(same.body) > 0 || same.Header.Get("Etag") != first {
		t.Errorf("304 with %q, %q", same.Header.Get("Etag"), same.body)
	}
	acme := recordOf(t, acmes)
	table.show(acme.Name, acme)
	second := get(t, h, "/apis", "Accept", asJSON, "If-None-Match", first).expect(t, http.StatusOK).Header.Get("Etag")
	table.show(acme.Name, nil)
	third := get(t, h, "/apis", "Accept", asJSON).expect(t, http.StatusOK).Header.Get("Etag")
	if second == first || third != first {
		t.Errorf("etags %s, %s, %s", first, second, third)
	}
	replica, _ := newFixture(t, widgets)
	if other := get(t, handler(replica), "/apis", "Accept", asJSON).Header.Get("Etag"); other != first {
		t.Errorf("a replica has etag %s, not %s", other, first)
	}
}

// TestInvisibleChange checks that a change of a CRD that clients cannot see keeps the cached lists.
func TestInvisibleChange(t *testing.T) {
	t.Parallel()
	d, table := newFixture(t, gadgets)
	before := d.current.Load()
	again := recordOf(t, gadgets)
	table.show(again.Name, again)
	if d.current.Load() != before {
		t.Error("the lists are computed again")
	}
}

// TestReadYourChanges checks that a request after a change gets the new state, although others read at the same time.
func TestReadYourChanges(t *testing.T) {
	t.Parallel()
	d, table := newFixture(t, gadgets)
	h := handler(d)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				get(t, h, "/apis", "Accept", asJSON)
				get(t, h, "/apis/acme.io")
			}
		}
	}()
	record := recordOf(t, acmes)
	for n := range 300 {
		table.show(record.Name, record)
		if got := get(t, h, "/apis/acme.io/v2"); got.StatusCode != http.StatusOK {
			t.Errorf("%d: created, but %d", n, got.StatusCode)
		}
		if groups := fmt.Sprint(d.Paths()); !slices.Contains(d.Paths(), "/apis/acme.io/v2") {
			t.Errorf("%d: created, but listed are %s", n, groups)
		}
		table.show(record.Name, nil)
		if got := get(t, h, "/apis/acme.io"); got.StatusCode != http.StatusNotFound {
			t.Errorf("%d: deleted, but %d", n, got.StatusCode)
		}
		if slices.Contains(d.Paths(), "/apis/acme.io/v2") {
			t.Errorf("%d: deleted, but listed", n)
		}
	}
	close(stop)
	<-done
}
