package openapi

import (
	"fmt"
	"regexp"
	"sync"

	"github.com/crd-server/crd-server/internal/objectjson"
)

// pathsKey says which resources have the same paths, but for names.
type pathsKey struct {
	v                         *openAPIVersion
	namespaced, status, scale bool
}

// pathsTemplates are the encoded paths of resources with names as holes, by pathsKey. Encoding the paths of each resource takes
// nearly as long as encoding its schema.
var pathsTemplates sync.Map // pathsKey -> func() (*objectjson.Template, error)

// appendPaths appends the paths of a resource to the members in b.
func (v *openAPIVersion) appendPaths(b []byte, r *resource) ([]byte, error) {
	if !r.fitsTemplate() {
		return v.appendOperations(b, r.operations())
	}
	key := pathsKey{v: v, namespaced: r.namespaced, status: r.status, scale: r.scale}
	made, ok := pathsTemplates.Load(key)
	if !ok {
		made, _ = pathsTemplates.LoadOrStore(key, sync.OnceValues(key.template))
	}
	template, err := made.(func() (*objectjson.Template, error))()
	if err != nil {
		return nil, err
	}
	if len(b) > 0 {
		b = append(b, ',')
	}
	return template.Append(b, r.values()), nil
}

// appendOperations appends the paths of any operations.
func (v *openAPIVersion) appendOperations(b []byte, operations []*operation) ([]byte, error) {
	if v == version3 {
		return appendMembers(b, pathsV3(operations))
	}
	paths, err := pathsV2(operations)
	if err != nil {
		return nil, err
	}
	return appendMembers(b, paths)
}

// plainNames need no escaping. All valid names are plain.
var plainNames = regexp.MustCompile(`^[A-Za-z0-9.-]+$`)

// fitsTemplate says whether the resource differs from others with its pathsKey in names only.
func (r *resource) fitsTemplate() bool {
	for _, name := range []string{r.plural, r.object, r.list} {
		if !plainNames.MatchString(name) {
			return false
		}
	}
	return !r.builtin && !sharableBody(r.object)
}

// Values of a template. Two values of each operation follow.
const (
	groupValue = iota
	versionValue
	pluralValue
	kindValue
	objectValue
	listValue
	tagValue
	operationValues
)

// values returns the values for the template of the resource.
func (r *resource) values() [][]byte {
	values := [][]byte{
		groupValue: []byte(r.group), versionValue: []byte(r.version), pluralValue: []byte(r.plural), kindValue: []byte(r.kind),
		objectValue: []byte(r.object), listValue: []byte(r.list), tagValue: []byte(tag(r.group, r.version)),
	}
	for _, op := range r.operations() {
		values = append(values, []byte(op.id), []byte(op.description))
	}
	return values
}

// template encodes the paths of a resource whose names are marks.
func (k pathsKey) template() (*objectjson.Template, error) {
	mark := objectjson.Mark
	r := &resource{
		group: mark(groupValue), version: mark(versionValue), plural: mark(pluralValue), kind: mark(kindValue),
		object: mark(objectValue), list: mark(listValue),
		namespaced: k.namespaced, status: k.status, scale: k.scale, produces: customProduces, patches: customPatches,
	}
	operations := r.operations()
	for n, op := range operations {
		op.tags, op.id, op.description = []string{mark(tagValue)}, mark(operationValues+2*n), mark(operationValues+2*n+1)
	}
	encoded, err := k.v.appendOperations(nil, operations)
	if err != nil {
		return nil, fmt.Errorf("describing resources: %w", err)
	}
	return objectjson.NewTemplate(encoded, "", ""), nil
}
