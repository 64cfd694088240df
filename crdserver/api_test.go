package crdserver_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/api.txt")

// TestAPI compares what this package and crdservertest export with testdata/api.txt. A change of that file is a change
// for users: put it into CHANGELOG.md, and see "Versions" in the package comment. go test ./crdserver -update writes
// it.
func TestAPI(t *testing.T) {
	var got bytes.Buffer
	for _, dir := range []string{"../crdserver", "../crdservertest"} {
		printAPI(t, &got, dir)
	}
	const file = "testdata/api.txt"
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the API has changed (see the comment of this test):\n%s\nwant:\n%s", got.String(), want)
	}
}

// printAPI prints the exported declarations of a package without comments, and checks that they have no internal types.
func printAPI(t *testing.T, w *bytes.Buffer, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(w, "# %s\n\n", strings.TrimPrefix(dir, "../"))
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		internal := internalImports(t, file)
		if !ast.FileExports(file) {
			continue
		}
		for _, declaration := range file.Decls {
			if general, ok := declaration.(*ast.GenDecl); ok && general.Tok == token.IMPORT {
				continue
			}
			if function, ok := declaration.(*ast.FuncDecl); ok {
				if !ofExported(function) {
					continue
				}
				function.Body = nil
			}
			ast.Inspect(declaration, func(n ast.Node) bool {
				if selector, ok := n.(*ast.SelectorExpr); ok {
					if name, ok := selector.X.(*ast.Ident); ok && internal[name.Name] {
						t.Errorf("%s: the API has a type of package %s, which is internal", positions.Position(n.Pos()), name)
					}
				}
				return true
			})
			if err := format.Node(w, positions, declaration); err != nil {
				t.Fatal(err)
			}
			w.WriteString("\n\n")
		}
	}
}

// ofExported reports whether a function is not a method of a type that is not exported.
func ofExported(function *ast.FuncDecl) bool {
	if function.Recv == nil {
		return true
	}
	receiver := function.Recv.List[0].Type
	if pointer, ok := receiver.(*ast.StarExpr); ok {
		receiver = pointer.X
	}
	name, ok := receiver.(*ast.Ident)
	return ok && name.IsExported()
}

// internalImports returns the names of the internal packages that a file imports.
func internalImports(t *testing.T, file *ast.File) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = strings.Contains(path, "/internal/")
	}
	return names
}
