package openapi

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/openapi"
)

// operation is one method of one path, in a form that does not depend on the version of OpenAPI.
type operation struct {
	method, path    string
	id, description string
	tags            []string
	// action and kind are the extensions x-kubernetes-action and x-kubernetes-group-version-kind. Without a kind there are none.
	action string
	kind   *metav1.GroupVersionKind

	parameters         []parameter
	consumes, produces []string
	// reads is the name of the definition of the request body, if there is one.
	reads        string
	bodyRequired bool
	responses    []response
}

// response is a status code with the name of the definition of the response body.
type response struct {
	code        int
	description string
	writes      string
}

// target is a path with what the names of its operations are made of.
type target struct {
	resource *resource
	path     string
	// sub is the name of a subresource, or empty.
	sub string
	// object is the name of the definition that the operations read and write.
	object string
}

// operations returns the operations on the resource.
func (r *resource) operations() []*operation {
	root := "/apis/" + r.group + "/" + r.version + "/"
	all := target{resource: r, path: root + r.plural, object: r.list}
	some := all
	var operations []*operation
	if r.namespaced {
		some.path = root + "namespaces/{namespace}/" + r.plural
		list := all.list()
		list.id = operationID("list", r, r.kind+"ForAllNamespaces")
		operations = append(operations, list)
	}
	operations = append(operations, some.list(), some.create(), some.deleteCollection())
	one := target{resource: r, path: some.path + "/{name}", object: r.object}
	operations = append(operations, one.read(), one.replace(), one.delete(), one.patch())
	if r.status {
		status := target{resource: r, path: one.path + "/status", sub: "status", object: r.object}
		operations = append(operations, status.read(), status.replace(), status.patch())
	}
	if r.scale {
		scale := target{resource: r, path: one.path + "/scale", sub: "scale", object: scaleName}
		operations = append(operations, scale.read(), scale.replace(), scale.patch())
	}
	return operations
}

// operation returns an operation with what all operations have in common.
func (t *target) operation(method, verb, action string) *operation {
	r := t.resource
	op := &operation{
		method: method, path: t.path, action: action,
		id:       operationID(verb, r, t.name()),
		tags:     []string{tag(r.group, r.version)},
		kind:     &metav1.GroupVersionKind{Group: r.group, Version: r.version, Kind: r.kind},
		consumes: []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML},
		produces: r.produces,
	}
	if r.builtin {
		op.consumes = []string{"*/*"}
	}
	op.parameters = append(op.parameters, prettyParameter)
	if strings.Contains(t.path, "{namespace}") {
		op.parameters = append(op.parameters, namespaceParameter)
	}
	if strings.Contains(t.path, "{name}") {
		op.parameters = append(op.parameters, nameParameter(r.kind))
	}
	return op
}

// name returns the end of the IDs of operations.
func (t *target) name() string {
	name := t.resource.kind
	if t.sub != "" {
		name += strings.ToUpper(t.sub[:1]) + t.sub[1:]
	}
	if t.resource.namespaced {
		name = "Namespaced" + name
	}
	return name
}

// operationID returns an ID that is unique in all documents: the verb, the group, the version and a name.
func operationID(verb string, r *resource, name string) string {
	return verb + openapi.ToValidOperationID(strings.TrimSuffix(r.group, ".k8s.io"), true) +
		openapi.ToValidOperationID(r.version, true) + openapi.ToValidOperationID(name, true)
}

func tag(group, version string) string {
	name := openapi.ToValidOperationID(strings.TrimSuffix(group, ".k8s.io"), false)
	if version != "" {
		name += "_" + openapi.ToValidOperationID(version, false)
	}
	return name
}

// of returns the words between the verb and the kind in a description.
func (t *target) of() string {
	if t.sub != "" {
		return " " + t.sub + " of"
	}
	return ""
}

func (o *operation) answers(code int, writes string) {
	o.responses = append(o.responses, response{code: code, description: http.StatusText(code), writes: writes})
}

func (t *target) list() *operation {
	op := t.operation(http.MethodGet, "list", "list")
	op.description = "list objects of kind " + t.resource.kind
	if t.resource.builtin {
		op.description = "list or watch objects of kind " + t.resource.kind
		op.produces = slices.Concat(op.produces, t.resource.streams)
	}
	op.parameters = append(op.parameters, listParameters...)
	op.answers(http.StatusOK, t.resource.list)
	return op
}

func (t *target) create() *operation {
	op := t.operation(http.MethodPost, "create", "post")
	op.description = "create" + article(t.resource.kind) + t.resource.kind
	op.parameters = append(op.parameters, createParameters...)
	op.reads, op.bodyRequired = t.resource.object, true
	op.answers(http.StatusOK, t.resource.object)
	op.answers(http.StatusCreated, t.resource.object)
	op.answers(http.StatusAccepted, t.resource.object)
	return op
}

func (t *target) deleteCollection() *operation {
	op := t.operation(http.MethodDelete, "delete", "deletecollection")
	op.id = operationID("delete", t.resource, "Collection"+t.name())
	op.description = "delete collection of " + t.resource.kind
	op.parameters = append(op.parameters, listParameters...)
	if t.resource.builtin {
		op.parameters = slices.DeleteFunc(op.parameters, func(p parameter) bool {
			return p.name == "watch" || p.name == "allowWatchBookmarks"
		})
		op.parameters = append(op.parameters, deleteParameters...)
		op.reads = deleteOptionsName
	}
	op.answers(http.StatusOK, statusName)
	return op
}

func (t *target) read() *operation {
	op := t.operation(http.MethodGet, "read", "get")
	op.description = "read" + t.of() + " the specified " + t.resource.kind
	if !t.resource.builtin {
		op.parameters = append(op.parameters, getParameters...)
	}
	op.answers(http.StatusOK, t.object)
	return op
}

func (t *target) replace() *operation {
	op := t.operation(http.MethodPut, "replace", "put")
	op.description = "replace" + t.of() + " the specified " + t.resource.kind
	op.parameters = append(op.parameters, updateParameters...)
	op.reads, op.bodyRequired = t.object, true
	op.answers(http.StatusOK, t.object)
	op.answers(http.StatusCreated, t.object)
	return op
}

func (t *target) delete() *operation {
	op := t.operation(http.MethodDelete, "delete", "delete")
	op.description = "delete" + article(t.resource.kind) + t.resource.kind
	op.parameters = append(op.parameters, deleteParameters...)
	op.reads = deleteOptionsName
	op.answers(http.StatusOK, statusName)
	op.answers(http.StatusAccepted, statusName)
	return op
}

func (t *target) patch() *operation {
	op := t.operation(http.MethodPatch, "patch", "patch")
	op.description = "partially update" + t.of() + " the specified " + t.resource.kind
	op.parameters = append(op.parameters, patchParameters...)
	op.consumes = t.resource.patches
	op.reads, op.bodyRequired = patchName, true
	op.answers(http.StatusOK, t.object)
	if t.resource.builtin {
		op.answers(http.StatusCreated, t.object)
	}
	return op
}

// watch returns a deprecated watch, which upstream documents for compiled-in resources only.
func (t *target) watch(name, action, description string) *operation {
	op := t.operation(http.MethodGet, "watch", action)
	op.id = operationID("watch", t.resource, name)
	op.description = description
	op.produces = slices.Concat(op.produces, t.resource.streams)
	op.parameters = append(op.parameters, listParameters...)
	op.answers(http.StatusOK, watchEventName)
	return op
}
