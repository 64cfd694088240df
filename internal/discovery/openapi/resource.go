package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiserver/pkg/endpoints/openapi"
)

// resource is a CRD in one of its versions.
type resource struct {
	shape
	group, version, plural string
	kind, listKind         string
	// fields is the extension x-kubernetes-selectable-fields.
	fields []any
}

// shape is the part of a resource, besides its names, that its paths depend on.
type shape struct {
	namespaced, status, scale, selectable bool
}

// newResource returns a CRD in one of its versions as a resource.
func newResource(crd *apiextensions.CustomResourceDefinition, version string) (*resource, error) {
	names := &crd.Spec.Names
	r := &resource{group: crd.Spec.Group, version: version, plural: names.Plural, kind: names.Kind,
		listKind: names.ListKind}
	r.namespaced = crd.Spec.Scope == apiextensions.NamespaceScoped
	subresources, err := apiextensions.GetSubresourcesForVersion(crd, version)
	if err != nil {
		return nil, fmt.Errorf("describing CustomResourceDefinition %s: %w", crd.Name, err)
	}
	if subresources != nil {
		r.status, r.scale = subresources.Status != nil, subresources.Scale != nil
	}
	for _, field := range selectableFields(crd, version) {
		r.fields = append(r.fields, map[string]any{"fieldPath": strings.TrimPrefix(field.JSONPath, ".")})
	}
	r.selectable = len(r.fields) > 0
	return r, nil
}

// selectableFields returns the fields of a version, or those that all versions share.
func selectableFields(crd *apiextensions.CustomResourceDefinition, version string) []apiextensions.SelectableField {
	for n := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[n]; v.Name == version && len(v.SelectableFields) > 0 {
			return v.SelectableFields
		}
	}
	return crd.Spec.SelectableFields
}

// definitionName returns the name of the definition of a kind of the resource.
func (r *resource) definitionName(kind string) string {
	return reversed(r.group) + "." + r.version + "." + kind
}

// reversed returns a group in the order of a Java package.
func reversed(group string) string {
	labels := strings.Split(group, ".")
	slices.Reverse(labels)
	return strings.Join(labels, ".")
}

// forms returns every form in which the names of the resource occur in the builder's output, encoded as in JSON. The
// order of forms is the same for all resources: form n of the sample marks the places of form n of a resource.
func (r *resource) forms() ([][]byte, error) {
	fields, err := json.Marshal(r.fields)
	if err != nil {
		return nil, fmt.Errorf("encoding OpenAPI: %w", err)
	}
	forms := [][]byte{fields}
	group, id := strings.TrimSuffix(r.group, ".k8s.io"), openapi.ToValidOperationID
	for _, form := range []string{
		article(r.kind) + r.kind,
		r.group, reversed(r.group), id(group, false), id(group, true),
		r.version, id(r.version, false), id(r.version, true),
		r.plural,
		r.kind, id(r.kind, false), id(r.kind, true),
		r.listKind,
	} {
		quoted, err := json.Marshal(form)
		if err != nil {
			return nil, fmt.Errorf("encoding OpenAPI: %w", err)
		}
		forms = append(forms, quoted[1:len(quoted)-1])
	}
	return forms, nil
}

// article returns the text between a verb and a kind.
func article(kind string) string {
	switch {
	case strings.HasSuffix(kind, "s") && !strings.HasSuffix(kind, "ss"):
		return " " // a plural
	case strings.ContainsRune("aeiou", unicode.ToLower(rune(kind[0]))):
		return " an "
	}
	return " a "
}
