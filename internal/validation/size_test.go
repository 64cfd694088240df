package validation

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// TestBytes compares the estimates with the memory of the parts of a hundred sets. If CRDS is set, it reads the CRDs of
// that directory.
func TestBytes(t *testing.T) {
	crds := weighedCRDs(t)
	sets := make([]*Set, len(crds))
	for n, crd := range crds {
		sets[n] = newSet(crd)
	}
	each := func(compile func(v *Version) error) {
		for _, set := range sets {
			for _, v := range set.versions {
				if err := compile(v); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	obj := benchObject(t).Object
	estimate := func() (bytes int64) {
		for _, set := range sets {
			bytes += set.Bytes()
		}
		return bytes
	}
	for _, part := range []struct {
		name    string
		compile func(v *Version) error
	}{
		{"structural", func(v *Version) error {
			schema, err := v.objectSchema()
			if err == nil {
				schema.prune(kruntime.DeepCopyJSON(obj), false)
			}
			return err
		}},
		{"object", func(v *Version) error { _, err := v.openAPISchema(); return err }},
		{"status", func(v *Version) error { _, err := v.statusOpenAPISchema(); return err }},
		{"rules", func(v *Version) error { _, err := v.rules(); return err }},
		{"types", func(v *Version) error { _, err := v.parseableType.get(v.compileParseableType); return err }},
	} {
		heap, estimated := liveHeap(), estimate()
		each(part.compile)
		heap, estimated = liveHeap()-heap, estimate()-estimated
		t.Logf("%-10s %8d KiB, estimated %8d KiB", part.name, heap>>10, estimated>>10)
		const slack = 1 << 20
		if estimated > 2*heap+slack || heap > 2*estimated+slack {
			t.Errorf("%s: the estimate is off by more than a factor of two", part.name)
		}
	}
	runtime.KeepAlive(crds)
	runtime.KeepAlive(sets)
}

func weighedCRDs(t *testing.T) (crds []*apiextensionsv1.CustomResourceDefinition) {
	if dir := os.Getenv("CRDS"); dir != "" {
		files, _ := filepath.Glob(filepath.Join(dir, "*.yaml"))
		const apart = 7
		for n := 0; n < len(files); n += apart {
			text, err := os.ReadFile(files[n])
			if err != nil {
				t.Fatal(err)
			}
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := yaml.Unmarshal(text, crd); err != nil {
				t.Fatal(err)
			}
			crds = append(crds, crd)
		}
		return crds
	}
	const copies = 100
	for range copies {
		crds = append(crds, readCRD(t, "widgets"))
	}
	return crds
}

// liveHeap returns the number of bytes of all objects that are in use.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // frees the objects of finalizers and pools
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
