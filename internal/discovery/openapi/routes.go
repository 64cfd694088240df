package openapi

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/kube-openapi/pkg/common"

	builtin "github.com/crd-server/crd-server/internal/builtin/resource"
)

// Media types that built-in resources produce. A list may also be watched.
var (
	mediaTypes      = []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf}
	watchMediaTypes = append(slices.Clone(mediaTypes),
		runtime.ContentTypeJSON+";stream=watch", runtime.ContentTypeProtobuf+";stream=watch")
	patchMediaTypes = []string{
		string(types.JSONPatchType), string(types.MergePatchType),
		string(types.StrategicMergePatchType), string(types.ApplyYAMLPatchType),
	}
	anyMediaType = []string{"*/*"}
)

// routesOf returns the routes of a resource as apiserver's installer describes them.
func routesOf(d *builtin.Definition) []common.Route {
	b := &routeBuilder{Definition: d, object: modelOf(d.Object), list: modelOf(d.List), kind: d.GroupVersionKind()}
	root := groupPath(d.GroupVersion)
	collection := root + d.Plural
	watched := root + "watch/" + d.Plural
	if d.Namespaced {
		b.namespaced = "Namespaced"
		collection, watched = root+"namespaces/{namespace}/"+d.Plural, root+"watch/namespaces/{namespace}/"+d.Plural
	}
	b.addCollection(collection, watched)
	b.addObject(collection+"/{name}", "", d.VerbList())
	if b.has("watch") {
		b.addWatch("watch", watched+"/{name}", "", "watch changes to an object of kind "+d.Kind+
			". deprecated: use the 'watch' parameter with a list operation instead, "+
			"filtered to a single item with the 'fieldSelector' parameter.")
	}
	for _, sub := range d.Subresources {
		path := collection + "/{name}/" + sub.Name
		switch {
		case sub.Connect != nil: // not described
		case sub.Action != nil:
			b.addAction(path, &sub)
		case sub.Scale != nil:
			b.addScale(path, &sub)
		default:
			b.addObject(path, sub.Name, sub.Verbs)
		}
	}
	if d.Namespaced {
		b.namespaced = ""
		b.addLists(root+d.Plural, root+"watch/"+d.Plural, "ForAllNamespaces")
	}
	return b.routes
}

// routeBuilder collects the routes of a resource.
type routeBuilder struct {
	*builtin.Definition
	object, list model
	kind         schema.GroupVersionKind
	namespaced   string // in names of operations
	routes       []common.Route
}

// has reports whether the resource has a verb.
func (b *routeBuilder) has(verb string) bool { return slices.Contains(b.VerbList(), verb) }

// add adds a route. The operation is a verb, to which the kind is added.
func (b *routeBuilder) add(r route, suffix string) {
	r.operation += b.namespaced + b.Kind + suffix
	if r.kind.Empty() {
		r.kind = b.kind
	}
	r.metadata = map[string]any{
		"x-kubernetes-action":             r.action,
		"x-kubernetes-group-version-kind": metav1.GroupVersionKind(r.kind),
	}
	for _, p := range []parameter{
		{name: "name", doc: "name of the " + r.kind.Kind},
		{name: "namespace", doc: "object name and auth scope, such as for teams and projects"},
	} {
		if strings.Contains(r.path, "{"+p.name+"}") {
			r.parameters = append(r.parameters, p)
		}
	}
	r.parameters = append(r.parameters, pretty)
	if r.consumes == nil {
		r.consumes = anyMediaType
	}
	if r.produces == nil {
		r.produces = mediaTypes
	}
	b.routes = append(b.routes, &r)
}

// addCollection adds the routes of a collection.
func (b *routeBuilder) addCollection(path, watched string) {
	b.addLists(path, watched, "")
	if b.has("create") {
		b.addCreate(path, "", "")
	}
	if b.has("deletecollection") {
		b.add(route{
			method: http.MethodDelete, path: path, action: "deletecollection", operation: "deletecollection",
			doc: "delete collection of " + b.Kind, body: deleteOptions, bodyOptional: true,
			parameters: slices.Concat(
				options(metav1.DeleteOptions{}), options(metav1.ListOptions{}, "watch", "allowWatchBookmarks")),
			responses: respond(status, http.StatusOK),
		}, "")
	}
}

// addLists adds the routes that list and watch objects.
func (b *routeBuilder) addLists(path, watched, suffix string) {
	if b.has("list") {
		doc := "list objects of kind "
		if b.has("watch") {
			doc = "list or watch objects of kind "
		}
		b.add(route{
			method: http.MethodGet, path: path, action: "list", operation: "list", doc: doc + b.Kind,
			parameters: options(metav1.ListOptions{}), produces: watchMediaTypes, responses: respond(b.list, http.StatusOK),
		}, suffix)
	}
	if b.has("watch") {
		b.addWatch("watchlist", watched, "List"+suffix, "watch individual changes to a list of "+b.Kind+
			". deprecated: use the 'watch' parameter with a list operation instead.")
	}
}

// addWatch adds a route below /watch/.
func (b *routeBuilder) addWatch(action, path, suffix, doc string) {
	b.add(route{
		method: http.MethodGet, path: path, action: action, operation: "watch", doc: doc,
		parameters: options(metav1.ListOptions{}), produces: watchMediaTypes, responses: respond(watchEvent, http.StatusOK),
	}, suffix)
}

func (b *routeBuilder) addCreate(path, of, suffix string) {
	b.add(route{
		method: http.MethodPost, path: path, action: "post", operation: "create",
		doc: "create" + of + article(b.Kind) + b.Kind, body: b.object, parameters: options(metav1.CreateOptions{}),
		responses: respond(b.object, http.StatusOK, http.StatusCreated, http.StatusAccepted),
	}, suffix)
}

// addAction adds the route of an action.
func (b *routeBuilder) addAction(path string, sub *builtin.Subresource) {
	body := modelOf(sub.Action.Object)
	b.add(route{
		method: http.MethodPost, path: path, action: "post", operation: "create", kind: sub.Action.GroupVersionKind(),
		doc: "create " + sub.Name + " of" + article(b.Kind) + b.Kind, body: body, parameters: options(metav1.CreateOptions{}),
		responses: respond(body, http.StatusOK, http.StatusCreated, http.StatusAccepted),
	}, openapi.ToValidOperationID(sub.Name, true))
}

// addScale adds the routes of the Scale of an object.
func (b *routeBuilder) addScale(path string, sub *builtin.Subresource) {
	scale := *b
	scale.object, scale.kind = modelOf(&autoscalingv1.Scale{}), sub.GroupVersionKind(b.Definition)
	scale.addObject(path, sub.Name, sub.Verbs)
	b.routes = scale.routes
}

// addObject adds the routes of an object or of a subresource of it.
func (b *routeBuilder) addObject(path, subresource string, verbs []string) {
	suffix := openapi.ToValidOperationID(subresource, true)
	of := ""
	if subresource != "" {
		of = " " + subresource + " of"
	}
	specified := of + " the specified " + b.Kind
	has := func(verb string) bool { return slices.Contains(verbs, verb) }
	if has("get") {
		b.add(route{
			method: http.MethodGet, path: path, action: "get", operation: "read", doc: "read" + specified,
			responses: respond(b.object, http.StatusOK),
		}, suffix)
	}
	if has("update") {
		b.add(route{
			method: http.MethodPut, path: path, action: "put", operation: "replace", doc: "replace" + specified, body: b.object,
			parameters: options(metav1.UpdateOptions{}), responses: respond(b.object, http.StatusOK, http.StatusCreated),
		}, suffix)
	}
	if has("patch") {
		b.add(route{
			method: http.MethodPatch, path: path, action: "patch", operation: "patch",
			doc: "partially update" + specified, body: patch,
			consumes: patchMediaTypes, parameters: options(metav1.PatchOptions{}),
			responses: respond(b.object, http.StatusOK, http.StatusCreated),
		}, suffix)
	}
	if has("delete") {
		deleted := status
		if b.ReturnsDeleted {
			deleted = b.object
		}
		b.add(route{
			method: http.MethodDelete, path: path, action: "delete", operation: "delete",
			doc:  "delete" + of + article(b.Kind) + b.Kind,
			body: deleteOptions, bodyOptional: true, parameters: options(metav1.DeleteOptions{}),
			responses: respond(deleted, http.StatusOK, http.StatusAccepted),
		}, suffix)
	}
	if subresource != "" && has("create") {
		b.addCreate(path, of, suffix)
	}
}

// options returns the query parameters of options, such as ListOptions, without some of them.
func options(of interface{ SwaggerDoc() map[string]string }, without ...string) []parameter {
	docs := of.SwaggerDoc()
	var parameters []parameter
	for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		kind := field.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if len(field.Index) > 1 || name == "" || kind.Kind() == reflect.Struct || slices.Contains(without, name) {
			continue
		}
		p := parameter{name: name, doc: docs[name], query: true, dataType: "string"}
		switch kind.Kind() {
		case reflect.Bool:
			p.dataType = "boolean"
		case reflect.Int64:
			p.dataType = "integer"
		}
		parameters = append(parameters, p)
	}
	return parameters
}
