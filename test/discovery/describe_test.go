package discovery

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// description is what a server says it serves, without the intended differences.
type description struct {
	// resources has a line for each group, resource and subresource in each form of discovery.
	resources []string
	// documents are those of OpenAPI, by path.
	documents map[string]document
}

// paths returns the paths of the documents.
func (d *description) paths() []string { return slices.Collect(maps.Keys(d.documents)) }

// lines returns the description as text. Of a document it has the hash.
func (d *description) lines() []string {
	lines := slices.Clone(d.resources)
	for _, path := range slices.Sorted(slices.Values(d.paths())) {
		lines = append(lines, path+" "+d.documents[path].hash())
	}
	return lines
}

// reader reads what a server says.
type reader struct {
	t      *testing.T
	client rest.Interface
}

// describe reads all that a server says.
func describe(t *testing.T, config *rest.Config) *description {
	t.Helper()
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, client: clients.Discovery().RESTClient()}
	return &description{resources: append(r.aggregated(), r.legacy()...), documents: r.documents()}
}

// get decodes the answer to a request.
func (r *reader) get(path, accept string, into any) {
	r.t.Helper()
	raw, err := r.client.Get().AbsPath(path).SetHeader("Accept", accept).Do(r.t.Context()).Raw()
	if err != nil {
		r.t.Fatalf("GET %s: %v", path, err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		r.t.Fatalf("GET %s: %v", path, err)
	}
}

// aggregated returns the lines of aggregated discovery, in the order of the server.
func (r *reader) aggregated() (lines []string) {
	const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	for _, path := range []string{"/api", "/apis"} {
		list := &apidiscoveryv2.APIGroupDiscoveryList{}
		r.get(path, accept, list)
		for _, group := range list.Items {
			for _, version := range group.Versions {
				lines = append(lines, join("aggregated", path, group.Name, version.Version, version.Freshness))
				for _, resource := range version.Resources {
					lines = append(lines, aggregatedLines(join(group.Name, version.Version), resource)...)
				}
			}
		}
	}
	return slices.DeleteFunc(lines, intended)
}

func aggregatedLines(version string, r apidiscoveryv2.APIResourceDiscovery) []string {
	lines := []string{join("aggregated", version, r.Resource, r.SingularResource, kindOf(r.ResponseKind), r.Scope, r.Verbs,
		r.ShortNames, r.Categories)}
	for _, sub := range r.Subresources {
		name := r.Resource + "/" + sub.Subresource
		lines = append(lines, join("aggregated", version, name, kindOf(sub.ResponseKind), sub.Verbs))
	}
	return lines
}

func kindOf(kind *metav1.GroupVersionKind) string {
	if kind == nil {
		return "-"
	}
	return strings.Join([]string{kind.Group, kind.Version, kind.Kind}, "/")
}

// legacy returns the lines of the lists of groups and of resources.
func (r *reader) legacy() []string {
	groups := &metav1.APIGroupList{}
	r.get("/apis", "application/json", groups)
	lines := r.resourceList("/api/v1")
	for _, group := range groups.Groups {
		lines = append(lines, join("group", group.Name, group.PreferredVersion.GroupVersion))
		for _, version := range group.Versions {
			lines = append(lines, r.resourceList("/apis/"+version.GroupVersion)...)
		}
	}
	return slices.DeleteFunc(lines, intended)
}

func (r *reader) resourceList(path string) (lines []string) {
	list := &metav1.APIResourceList{}
	r.get(path, "application/json", list)
	for _, resource := range list.APIResources {
		kind := strings.Join([]string{resource.Group, resource.Version, resource.Kind}, "/")
		lines = append(lines, join("listed", list.GroupVersion, resource.Name, resource.SingularName, kind,
			resource.Namespaced, resource.Verbs, resource.ShortNames, resource.Categories, resource.StorageVersionHash))
	}
	return lines
}

// join joins the words of a line.
func join(words ...any) string {
	return strings.TrimSuffix(fmt.Sprintln(words...), "\n")
}
