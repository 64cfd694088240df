package transcripts

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// samples holds the sample CRDs, and below objects an object or two of each.
const samples = "../../config/samples"

// installSamples creates the sample CRDs and their objects.
func (p *player) installSamples() {
	p.t.Helper()
	plurals := map[string]string{}
	for _, content := range documents(p.t, samples) {
		var crd struct {
			Spec struct{ Names struct{ Kind, Plural string } }
		}
		if err := yaml.Unmarshal([]byte(content), &crd); err != nil {
			p.t.Fatal(err)
		}
		plurals[crd.Spec.Names.Kind] = crd.Spec.Names.Plural
		p.serve(content)
	}
	for _, content := range documents(p.t, filepath.Join(samples, "objects")) {
		var object struct {
			APIVersion, Kind string
			Metadata         struct{ Namespace string }
		}
		if err := yaml.Unmarshal([]byte(content), &object); err != nil {
			p.t.Fatal(err)
		}
		path := "/apis/" + object.APIVersion
		if object.Metadata.Namespace != "" {
			path += "/namespaces/" + object.Metadata.Namespace
		}
		create := exchange{request: append([]string{"POST " + path + "/" + plurals[object.Kind],
			"Content-Type: application/yaml", ""}, strings.Split(content, "\n")...)}
		if code, body := p.ask(create); code != http.StatusCreated {
			p.t.Fatalf("create %s: %d %s", object.Kind, code, body)
		}
	}
}

// documents returns the YAML documents of all files in a folder.
func documents(t testing.TB, folder string) (all []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", folder, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.Split(string(content), "\n---\n")...)
	}
	return all
}
