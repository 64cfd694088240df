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

// resource is what its operations are made of.
type resource struct {
	group, version, plural string
	kind, listKind         string
	namespaced             bool
	status, scale          bool
	// object and list are the names of the definitions of the two kinds.
	object, list string
	// builtin: the operations are described as upstream describes those of what is compiled in.
	builtin bool
	// produces is what every operation answers in, streams what watches answer in besides.
	produces, streams []string
	patches           []string
}

// What all custom resources are answered in, and patched with.
var (
	customProduces = []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML}
	customPatches  = []string{string(types.JSONPatchType), string(types.MergePatchType), string(types.ApplyPatchType)}
)

// newResource describes a CRD in one of its versions.
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

// definitionName names the definition of a custom kind: the group is reversed, as in a Java package.
func definitionName(group, version, kind string) string {
	parts := strings.Split(group, ".")
	slices.Reverse(parts)
	return strings.Join(append(parts, version, kind), ".")
}

// article is what stands between a verb and a kind.
func article(kind string) string {
	switch {
	case strings.HasSuffix(kind, "s") && !strings.HasSuffix(kind, "ss"):
		return " " // a plural
	case strings.ContainsRune("aeiou", unicode.ToLower(rune(kind[0]))):
		return " an "
	}
	return " a "
}
