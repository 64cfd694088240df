package definitions

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/objectjson"
)

var surveyed = flag.String("crds", "../../../config", "the folder whose CRDs TestSurvey measures")

// TestSurvey prints the largest value of each limit among the CRDs of a folder, and checks that upstream accepts no CRD
// that this server refuses. docs/conformance.md has the values of public CRDs.
func TestSurvey(t *testing.T) {
	t.Parallel()
	largest, seen := map[string]sighting{}, map[string]bool{}
	for _, file := range definitionFiles(t, *surveyed) {
		for _, crd := range definitionsIn(t, file) {
			seen[crd.Name] = true
			for limit, n := range measured(crd) {
				if n > largest[limit].n {
					largest[limit] = sighting{n, crd.Name, file}
				}
			}
			checkAccepted(t, crd, file)
		}
	}
	if len(seen) == 0 {
		t.Fatalf("%s has no CRDs", *surveyed)
	}
	t.Logf("%d CRDs", len(seen))
	for _, limit := range slices.Sorted(maps.Keys(largest)) {
		t.Logf("%s: %d in %s, %s", limit, largest[limit].n, largest[limit].name, largest[limit].file)
	}
}

// sighting is a value of a limit, and the CRD that has it.
type sighting struct {
	n          int
	name, file string
}

// checkAccepted reports an error if upstream accepts a CRD and this server does not.
func checkAccepted(t *testing.T, crd *apiextensions.CustomResourceDefinition, file string) {
	t.Helper()
	got := NewStrategy().Validate(t.Context(), crd)
	if len(got) == 0 {
		return
	}
	if want := customresourcedefinition.NewStrategy(crds.Scheme).Validate(t.Context(), crd); len(want) == 0 {
		t.Errorf("%s in %s: %.500v", crd.Name, file, got)
	}
}

// definitionFiles returns the files of a folder that may have CRDs.
func definitionFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) && entry.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// definitionsIn returns the CRDs of a file as upstream's strategy gets them. It ignores documents that are not CRDs,
// such as templates.
func definitionsIn(t *testing.T, file string) (found []*apiextensions.CustomResourceDefinition) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(content, []byte("CustomResourceDefinition")) {
		return nil
	}
	for _, document := range bytes.Split(append([]byte("\n"), content...), []byte("\n---")) {
		served := &apiextensionsv1.CustomResourceDefinition{}
		if body, err := yaml.YAMLToJSON(document); err != nil ||
			runtime.DecodeInto(crds.Codecs.UniversalDeserializer(), body, served) != nil {
			continue
		}
		crds.Scheme.Default(served)
		crd, err := crds.FromV1(served)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		NewStrategy().PrepareForCreate(t.Context(), crd)
		found = append(found, crd)
	}
	return found
}

// measured returns the value of each limit.
func measured(crd *apiextensions.CustomResourceDefinition) map[string]int {
	spec := &crd.Spec
	schemas := schemaSize{}
	sizes := map[string]int{
		"versions": len(spec.Versions), "short names": len(spec.Names.ShortNames), "categories": len(spec.Names.Categories),
	}
	measure := func(parts versionParts, versions int) {
		parts.errors(&schemas, versions, field.NewPath(""), field.NewPath(""))
		sizes["columns"] = max(sizes["columns"], len(parts.columns))
		for n := range parts.columns {
			sizes["JSONPath"] = max(sizes["JSONPath"], len(parts.columns[n].JSONPath))
		}
	}
	measure(versionParts{spec.Validation, spec.AdditionalPrinterColumns, spec.Subresources}, len(spec.Versions))
	for n := range spec.Versions {
		version := &spec.Versions[n]
		measure(versionParts{version.Schema, version.AdditionalPrinterColumns, version.Subresources}, 1)
	}
	if served, err := crds.ToV1(crd); err == nil {
		encoded, _ := json.Marshal(served)
		sizes["bytes"], sizes["JSON objects"] = len(encoded), objectjson.ShapeOf(encoded).Objects
	}
	for _, limit := range schemas.limits() {
		sizes[limit.detail] = limit.n
	}
	return sizes
}
