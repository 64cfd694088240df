package server

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/crds"
)

// crd returns the manifest of a CRD.
func crd(plural string) string {
	return fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %[1]s.example.com
spec:
  group: example.com
  names: {plural: %[1]s, kind: Thing}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`, plural)
}

func TestManifests(t *testing.T) {
	t.Parallel()
	const list = `{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "apiextensions.k8s.io/v1",
"kind": "CustomResourceDefinition",
		"metadata": {"name": "a.example.com", "uid": "1", "resourceVersion": "7", "managedFields": []}, "spec": {},
		"status": {"conditions": []}}]}`
	for _, test := range []struct {
		name  string
		files map[string]string
		want  []string // names
		err   string   // without the path of the directory
	}{
		{name: "one", files: map[string]string{"a.yaml": crd("a")}, want: []string{"a.example.com"}},
		{name: "several documents", files: map[string]string{"a.yml": "# comment\n---\n" + crd("a") + "---\n---\n" +
			crd("b")}, want: []string{"a.example.com", "b.example.com"}},
		{name: "order of names", files: map[string]string{"2.yaml": crd("a"), "1.yaml": crd("b"), "README.md": "no"},
			want: []string{"b.example.com", "a.example.com"}},
		{name: "list", files: map[string]string{"a.json": list}, want: []string{"a.example.com"}},
		{name: "list in YAML", files: map[string]string{"a.yaml": "apiVersion: v1\nkind: List\nitems:\n- " +
			strings.ReplaceAll(strings.TrimSpace(crd("a")), "\n", "\n  ") + "\n- " +
			strings.ReplaceAll(strings.TrimSpace(crd("b")), "\n", "\n  ")}, want: []string{"a.example.com", "b.example.com"}},
		{name: "several JSON documents",
			files: map[string]string{"a.json": list + "\n" + strings.ReplaceAll(list, "a.example", "b.example")},
			want:  []string{"a.example.com", "b.example.com"}},
		{name: "not YAML", files: map[string]string{"a.yaml": crd("a") + "---\n\t:"},
			err: "--crds: a.yaml, document 2: yaml: "},
		{name: "duplicate key", files: map[string]string{"a.yaml": crd("a") + "spec: {}\n"},
			err: `--crds: a.yaml, document 1: yaml: `},
		{name: "not JSON", files: map[string]string{"a.json": list + "{"}, err: "--crds: a.json, document 2: unexpected EOF"},
		{name: "not an object", files: map[string]string{"a.yaml": "- a"},
			err: "--crds: a.yaml, document 1: not an object: "},
		{name: "another kind", files: map[string]string{"a.yaml": crd("a") + "---\napiVersion: v1\nkind: Secret\n"},
			err: `--crds: a.yaml, document 2: kind "Secret" of apiVersion "v1" is not a CustomResourceDefinition`},
		{name: "old version", files: map[string]string{"a.yaml": strings.Replace(crd("a"), "/v1", "/v1beta1", 1)},
			err: `--crds: a.yaml, document 1: apiVersion "apiextensions.k8s.io/v1beta1" is not served`},
		{name: "no name", files: map[string]string{"a.yaml": strings.Replace(crd("a"), "  name: a.example.com",
			"  labels: {}", 1)}, err: "--crds: a.yaml, document 1: metadata.name is missing"},
		{name: "unknown field", files: map[string]string{"a.yaml": strings.Replace(crd("a"), "scope:", "scoop:", 1)},
			err: `--crds: a.yaml, document 1: json: unknown field "scoop"`},
		{name: "wrong type", files: map[string]string{"a.yaml": strings.Replace(crd("a"), "served: true", "served: 1", 1)},
			err: "--crds: a.yaml, document 1: json: cannot unmarshal number"},
		{name: "duplicate CRD", files: map[string]string{"a.yaml": crd("a"), "b.yaml": crd("a")},
			err: "--crds: b.yaml, document 1: a.example.com is already in a.yaml, document 1"},
		{name: "the first of several errors",
			files: map[string]string{"1.yaml": strings.Repeat("---\n"+crd("a"), 50) + "---\n- a", "2.yaml": "- b"},
			err:   "--crds: 1.yaml, document 51: not an object: "},
		{name: "nothing", files: map[string]string{"a.txt": ""}, err: "directory without .yaml, .yml or .json files"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range test.files {
				write(t, filepath.Join(dir, name), content)
			}
			all, err := (&Options{CRDs: []string{dir}}).manifests()
			if test.err != "" {
				if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), dir+"/", ""), test.err) ||
					strings.Contains(err.Error(), "\n") {
					t.Errorf("got %v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, m := range all {
				names = append(names, m.name)
				if carried := regexp.MustCompile(`"(uid|resourceVersion|managedFields|status)"`).Find(m.json); carried != nil {
					t.Errorf("the manifest keeps %s, which only a server writes", carried)
				}
			}
			if !slices.Equal(names, test.want) {
				t.Errorf("got %v", names)
			}
		})
	}
}

// applied stores the generation of each CRD that install applies. It refuses CRDs named "bad".
type applied struct {
	mu   sync.Mutex // guards the fields below
	asks []string
	// generations of the stored CRDs
	generations map[string]int64
	body        string // of the last apply
}

func (a *applied) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	info, _ := request.RequestInfoFrom(req.Context())
	who, _ := request.UserFrom(req.Context())
	body, _ := io.ReadAll(req.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	generation, exists := a.generations[info.Name]
	if info.Verb == "patch" {
		a.asks = append(a.asks, fmt.Sprintf("%s as %s %s", req.URL.RequestURI(), who.GetName(),
			req.Header.Get("Content-Type")))
	}
	gr := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	switch {
	case strings.HasPrefix(info.Name, "bad."):
		gk := schema.GroupKind{Group: info.APIGroup, Kind: "CustomResourceDefinition"}
		responsewriters.ErrorNegotiated(apierrors.NewInvalid(gk, info.Name, nil), crds.Codecs, schema.GroupVersion{}, w,
			req)
		return
	case info.Verb == "get" && !exists:
		responsewriters.ErrorNegotiated(apierrors.NewNotFound(gr, info.Name), crds.Codecs, schema.GroupVersion{}, w, req)
		return
	case info.Verb == "patch" && (!exists || string(body) != a.body):
		generation++
	}
	if info.Verb == "patch" && req.URL.Query().Get("dryRun") == "" {
		a.generations[info.Name], a.body = generation, string(body)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {"name": %q, `+
		`"generation": %d}}`,
		info.Name, generation)
}

// TestInstall checks that a CRD is tried with a dry run at each start, and applied only if that would change it.
func TestInstall(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "crds.yaml")
	server := &applied{generations: map[string]int64{}}
	const ask = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/good.example.com" +
		"?%sfieldManager=crd-server&force=true" +
		" as system:apiserver application/apply-patch+yaml"
	try, apply := fmt.Sprintf(ask, "dryRun=All&"), fmt.Sprintf(ask, "")
	for _, step := range []struct {
		name, content string
		want          []string
	}{
		{"new", crd("good"), []string{try, apply}},
		{"the same", crd("good"), []string{try}},
		{"changed", strings.Replace(crd("good"), "Namespaced", "Cluster", 1), []string{try, apply}},
	} {
		t.Run(step.name, func(t *testing.T) {
			write(t, file, step.content)
			server.asks = nil
			s := start(t, server, func(o *Options) { o.CRDs = []string{file} })
			if !slices.Equal(server.asks, step.want) {
				t.Errorf("got  %q\nwant %q", server.asks, step.want)
			}
			client, url := s.as("")
			if got := do(t, client, "GET", url+"/readyz?verbose"); !strings.Contains(got.body, "[+]crds-installed ok") {
				t.Errorf("got %s", got.body)
			}
		})
	}
}

func TestInstallAppliesNothingIfOneIsInvalid(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "crds.yaml")
	write(t, file, crd("good")+"---\n"+crd("bad"))
	server := &applied{generations: map[string]int64{}}
	o := NewOptions()
	o.DataDir, o.Serving.SecurePort, o.CRDs = filepath.Join(t.TempDir(), "data"), 0, []string{file}
	synced := make(chan struct{})
	close(synced)
	err := runWith(t.Context(), o, fakeResources(server, synced))
	want := "--crds: " + file + `, document 2: CustomResourceDefinition.apiextensions.k8s.io "bad.example.com" is invalid`
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	if len(server.generations) > 0 {
		t.Errorf("applied CRDs: %v", server.generations)
	}
}
