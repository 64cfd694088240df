//go:build generated

// Command generate writes the OpenAPI definitions that package schemas embeds. The Makefile runs openapi-gen before it,
// which makes package definitions from the packages in types.txt. Without the tag "generated" there is no command,
// because that package is empty then.
package main

import (
	"archive/zip"
	"compress/flate"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/crd-server/crd-server/generate/definitions"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: generate FOLDER of package schemas")
	}
	if err := run(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(folder string) error {
	list, err := os.ReadFile(filepath.Join(folder, "types.txt"))
	if err != nil {
		return err
	}
	packages, err := selected(names(string(list)))
	if err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(folder, "definitions.zip"))
	if err != nil {
		return err
	}
	defer out.Close()
	if err := write(out, packages, origin(list)); err != nil {
		return err
	}
	return out.Close()
}

// names returns the names of the definitions of the listed types: io.k8s.api.core.v1.Secret is that of
// k8s.io/api/core/v1 Secret.
func names(list string) []string {
	var names []string
	for line := range strings.Lines(list) {
		if of, kind, found := strings.Cut(strings.TrimSpace(line), " "); found && !strings.HasPrefix(line, "#") {
			domain, path, _ := strings.Cut(of, "/")
			labels := strings.Split(domain, ".")
			slices.Reverse(labels)
			names = append(names, strings.Join(labels, ".")+"."+strings.ReplaceAll(path, "/", ".")+"."+kind)
		}
	}
	return names
}

// origin returns lines from which a test recognizes a stale archive: the hash of the list, and versions of modules.
func origin(list []byte) string {
	lines := []string{fmt.Sprintf("types.txt %x", sha256.Sum256(list))}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			switch module.Path {
			case "k8s.io/api", "k8s.io/apimachinery", "k8s.io/kube-aggregator", "k8s.io/kube-openapi":
				lines = append(lines, module.Path+" "+module.Version)
			}
		}
	}
	return strings.Join(lines, "\n")
}

// write writes an archive with one file for each package.
func write(out io.Writer, packages map[string]map[string]spec.Schema, comment string) error {
	archive := zip.NewWriter(out)
	archive.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, flate.BestCompression)
	})
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		encoded, err := json.Marshal(packages[name])
		if err != nil {
			return err
		}
		w, err := archive.Create(name)
		if err != nil {
			return err
		}
		if _, err := w.Write(encoded); err != nil {
			return err
		}
	}
	if err := archive.SetComment(comment); err != nil {
		return err
	}
	return archive.Close()
}

// selected returns the definitions of some types and of those that they refer to, by package and name.
func selected(types []string) (map[string]map[string]spec.Schema, error) {
	all := definitions.GetOpenAPIDefinitions(func(name string) spec.Ref {
		return spec.MustCreateRef("#/definitions/" + name)
	})
	extensions := kinds()
	packages := map[string]map[string]spec.Schema{}
	for len(types) > 0 {
		name := types[0]
		types = types[1:]
		of := name[:strings.LastIndex(name, ".")]
		if _, done := packages[of][name]; done {
			continue
		}
		definition, ok := all[name]
		if !ok {
			return nil, fmt.Errorf("there is no definition of %s; add its package to types.txt", name)
		}
		for key, value := range extensions(name) {
			definition.Schema.AddExtension(key, value)
		}
		if packages[of] == nil {
			packages[of] = map[string]spec.Schema{}
		}
		packages[of][name] = definition.Schema
		types = append(types, definition.Dependencies...)
	}
	return packages, nil
}

// kinds returns a function that returns the extensions of a type, which are its groups, versions and kinds.
func kinds() func(name string) spec.Extensions {
	scheme := runtime.NewScheme()
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(apiregistrationv1.AddToScheme(scheme))
	namer := openapi.NewDefinitionNamer(clientgoscheme.Scheme, scheme)
	return func(name string) spec.Extensions {
		_, extensions := namer.GetDefinitionName(name)
		return extensions
	}
}
