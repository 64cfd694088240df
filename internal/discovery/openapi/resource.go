package openapi

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// resource has what the operations on a resource depend on.
type resource struct {
	group, version, plural string
	kind, listKind         string
	namespaced             bool
	status, scale          bool
	// object and list are the names of the definitions of kind and listKind.
	object, list string
	// builtin says that upstream describes the operations as those of a compiled-in resource.
	builtin bool
	// produces are the media types of all responses, streams further ones of watches.
	produces, streams []string
	patches           []string
}

// Media types of responses and patches of custom resources.
var (
	customProduces = []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML}
	customPatches  = []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.ApplyPatchType)}
)

// newResource returns a CRD in one of its versions as a resource.
func newResource(crd *apiextensions.CustomResourceDefinition, version string) (*resource, error) {
	names := &crd.Spec.Names
	r := &resource{
		group: crd.Spec.Group, version: version, plural: names.Plural,
		kind: names.Kind, listKind: names.ListKind,
		namespaced: crd.Spec.Scope == apiextensions.NamespaceScoped,
		produces:   customProduces, patches: customPatches,
	}
	r.object = definitionName(r.group, version, r.kind)
	r.list = definitionName(r.group, version, r.listKind)
	subresources, err := apiextensions.GetSubresourcesForVersion(crd, version)
	if err != nil {
		return nil, fmt.Errorf("describing CustomResourceDefinition %s: %w", crd.Name, err)
	}
	if subresources != nil {
		r.status, r.scale = subresources.Status != nil, subresources.Scale != nil
	}
	return r, nil
}

// definitionName returns the name of the definition of a custom kind, with the group reversed as in a Java package.
func definitionName(group, version, kind string) string {
	parts := strings.Split(group, ".")
	slices.Reverse(parts)
	return strings.Join(append(parts, version, kind), ".")
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
