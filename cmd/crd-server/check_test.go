package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// widgets is a CRD of two versions, which a webhook that does not run converts.
const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  scope: Namespaced
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/convert"}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [size]
            x-kubernetes-validations:
            - {rule: "!has(self.color) || self.color != 'red' || self.size > 5", message: red widgets are large}
            properties:
              size: {type: integer, maximum: 10}
              color: {type: string}
  - name: v1beta1
    served: true
    storage: false
    deprecated: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {width: {type: integer}}}
`

func widget(version, name, spec string) string {
	return "apiVersion: example.com/" + version + "\nkind: Widget\nmetadata: {" + name + "}\nspec: {" + spec + "}\n"
}

// widgetsWith returns the CRD with replacements: old, new, and so on.
func widgetsWith(replacements ...string) string {
	return strings.NewReplacer(replacements...).Replace(widgets)
}

// unknownField is the server's message about a field that a kind does not have.
func unknownField(kind, version, field string) string {
	return fmt.Sprintf("%[1]s in version %[2]q cannot be handled as a %[1]s: strict decoding error: unknown field %[3]q",
		kind, version, field)
}

// TestCheck checks the output for the manifests in a directory.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		files  map[string]string
		args   string // all files by default
		stdout []string
		stderr string
	}{
		{
			name: "valid", files: map[string]string{
				"crds/widgets.yaml": widgets,
				"samples/a.yaml": widget("v1", "name: a, namespace: shop", "size: 6, color: red") + "---\n" +
					widget("v1", "generateName: b-", "size: 1"),
				"samples/old.yml": "# old\n---\n" + widget("v1beta1", "name: a, namespace: shop", "width: 3"),
				"samples/list.json": `{"apiVersion": "v1", "kind": "List", "items": [` +
					`{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c"}}]}`,
				"samples/namespaces.yaml":    "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n",
				"samples/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
				"samples/patch.yaml":         "- {op: remove, path: /spec}\n",
				"samples/values.yaml":        "replicas: 3\n",
			},
			stdout: []string{
				"samples/old.yml:3: Widget a: Warning: example.com/v1beta1 Widget is deprecated",
				"1 CRD and 5 objects are valid",
			},
		},
		{
			name: "objects of Kubernetes", files: map[string]string{
				"class.yaml": "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1\n",
				"pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n" +
					"spec: {priorityClassName: high, containers: [{name: c, image: i}]}\n",
				"service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: dns}\n" +
					"spec: {clusterIP: 10.96.0.10, ipFamilyPolicy: RequireDualStack, ports: [{port: 53}]}\n",
			},
			stdout: []string{"0 CRDs and 3 objects are valid"},
		},
		{
			name: "one invalid sample", files: map[string]string{"a.yaml": "apiVersion: v1\n"},
			args:   "a.yaml",
			stdout: []string{"a.yaml:1: kind is missing"},
			stderr: "crd-server: 1 of 1 object is invalid",
		},
		{
			name: "invalid samples", files: map[string]string{
				"crd.yaml": widgets,
				"a.yaml": widget("v1", "name: rule", "size: 1, color: red") + "---\n" +
					widget("v1", "name: required", "color: blue") + "---\n" +
					widget("v1", "name: type", `size: "1"`) + "---\n" +
					widget("v1", "name: unknown", "size: 1, colour: red") + "---\n" +
					widget("v1beta1", "name: other-version", "size: 1") + "---\n" +
					widget("v2", "name: no-version", "size: 1") + "---\n" +
					widget("v1", "", "size: 1") + "---\n" +
					widget("v1", "name: valid", "size: 1"),
				"b.yaml": "apiVersion: other.example.com/v1\nkind: Other\nmetadata: {name: a}\n---\n" +
					"apiVersion: v1\nkind: Secret\nmetadata: {name: tls}\ntype: kubernetes.io/tls\n---\n" +
					"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndatas: {}\n",
				"c.yaml": "kind: Widget\n---\napiVersion: example.com/v1\n---\na: {b\n---\na: 1\na: 2\n",
			},
			stdout: []string{
				`a.yaml:1: Widget rule: spec: Invalid value: red widgets are large`,
				`a.yaml:6: Widget required: spec.size: Required value`,
				`a.yaml:6: Widget required: Invalid value: null: some validation rules were not checked`,
				`a.yaml:11: Widget type: spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"`,
				`a.yaml:11: Widget type: Invalid value: null: some validation rules were not checked`,
				`a.yaml:16: Widget unknown: ` + unknownField("Widget", "v1", "spec.colour"),
				`a.yaml:21: Widget other-version: Warning: `,
				`a.yaml:21: Widget other-version: ` + unknownField("Widget", "v1beta1", "spec.size"),
				`a.yaml:26: Widget no-version: no matches for kind "Widget" in version "example.com/v2"; ` +
					`served versions: v1, v1beta1`,
				`a.yaml:31: Widget: metadata.name: Required value: name or generateName is required`,
				`a.yaml:31: Widget: Invalid value: null: some validation rules were not checked`,
				`b.yaml:1: Other a: no matches for kind "Other" in version "other.example.com/v1"; no CRD defines it`,
				`b.yaml:5: Secret tls: data[tls.crt]: Required value`,
				`b.yaml:5: Secret tls: data[tls.key]: Required value`,
				`b.yaml:10: ConfigMap a: ` + unknownField("ConfigMap", "v1", "datas"),
				`c.yaml:1: Widget: apiVersion is missing`,
				`c.yaml:3: kind is missing`,
				`c.yaml:5: yaml: line `,
				`c.yaml:7: yaml: unmarshal errors: line 8: key "a" already set in map`,
			},
			stderr: "crd-server: 14 of 16 objects are invalid",
		},
		{
			name: "invalid CRDs", files: map[string]string{
				"a.yaml": widgetsWith("maximum: 10", "maximum: 10, format: int33"),
				"b.yaml": widgetsWith("name: widgets.", "name: gadgets.", "plural: widgets", "plural: gadgets"),
				"c.yaml": widgetsWith("widget", "gizmo", "Widget", "Gizmo", "self.size > 5", "self.sise > 5"),
				"d.yaml": widgetsWith("widget", "thing", "Widget", "Thing", "scope:", "scoop:"),
				"e.yaml": widgets,
				"f.yaml": strings.ReplaceAll(widget("v1", "name: a", "size: 1"), "Widget", "Gizmo"),
			},
			stdout: []string{
				`a.yaml:1: CustomResourceDefinition widgets.example.com: Warning: unrecognized format "int33"`,
				`b.yaml:1: CustomResourceDefinition gadgets.example.com: condition NamesAccepted is False: "`,
				`c.yaml:1: CustomResourceDefinition gizmos.example.com: spec.versions[0].schema.openAPIV3Schema.` +
					`properties[spec].x-kubernetes-validations[0].rule: Invalid value: `,
				`d.yaml:1: CustomResourceDefinition things.example.com: `,
				`e.yaml:1: CustomResourceDefinition widgets.example.com: another one of this name is in a.yaml:1`,
			},
			stderr: "crd-server: 4 of 6 objects are invalid, 1 not checked because their CRDs are",
		},
		{
			name: "files that are no manifests must not be named", args: "values.yaml list.yaml README.md",
			files: map[string]string{"values.yaml": "a: 1\n", "list.yaml": "- a\n", "README.md": "# Title\n"},
			stdout: []string{
				"values.yaml:1: apiVersion is missing",
				"list.yaml:1: not an object: ",
			},
			stderr: "crd-server: 2 of 2 objects are invalid",
		},
		{
			name: "nothing", files: map[string]string{"values.yaml": "a: 1\n"},
			stderr: "crd-server: there are no objects to check",
		},
		{name: "no directory", args: "missing", stderr: "crd-server: missing: no such file or directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cmd, stdout, stderr := command(t, "check", ".")
			if test.args != "" {
				cmd.Args = append(cmd.Args[:2], strings.Fields(test.args)...)
			}
			for name, content := range test.files {
				file := filepath.Join(cmd.Dir, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_ = cmd.Run() // the exit code is looked at
			if code := cmd.ProcessState.ExitCode(); (code == 1) != (test.stderr != "") || code > 1 {
				t.Errorf("exit code %d", code)
			}
			if got := strings.TrimSuffix(stderr.String(), "\n"); got != test.stderr {
				t.Errorf("stderr is %q, want %q", got, test.stderr)
			}
			lines := strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
			if stdout.Len() == 0 {
				lines = nil
			}
			if len(lines) != len(test.stdout) {
				t.Fatalf("%d lines, want %d:\n%s", len(lines), len(test.stdout), stdout)
			}
			for i, line := range lines {
				if !strings.HasPrefix(line, test.stdout[i]) {
					t.Errorf("line %q\nwant %q", line, test.stdout[i])
				}
			}
		})
	}
}
