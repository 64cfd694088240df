package openapi

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/emicklei/go-restful/v3"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/openapi"

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

// addResource adds the routes of a resource as apiserver's installer describes them.
func (c *container) addResource(d *builtin.Definition) {
	b := &routeBuilder{
		Definition: d, container: c, object: modelOf(d.Object), list: modelOf(d.List), kind: d.GroupVersionKind(),
	}
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
}

// routeBuilder adds the routes of a resource to a container.
type routeBuilder struct {
	*builtin.Definition
	container    *container
	object, list model
	kind         schema.GroupVersionKind
	namespaced   string // in names of operations
}

// has reports whether the resource has a verb.
func (b *routeBuilder) has(verb string) bool { return slices.Contains(b.VerbList(), verb) }

// add adds a route. The operation is a verb, to which the kind is added.
func (b *routeBuilder) add(action, suffix string, r restful.Route) {
	r.Operation += b.namespaced + b.Kind + suffix
	r.Metadata = map[string]any{
		"x-kubernetes-action": action, "x-kubernetes-group-version-kind": metav1.GroupVersionKind(b.kind),
	}
	if strings.Contains(r.Path, "{name}") {
		r.ParameterDocs = append(r.ParameterDocs, restful.PathParameter("name", "name of the "+b.kind.Kind))
	}
	if strings.Contains(r.Path, "{namespace}") {
		r.ParameterDocs = append(r.ParameterDocs,
			restful.PathParameter("namespace", "object name and auth scope, such as for teams and projects"))
	}
	r.ParameterDocs = append(r.ParameterDocs, pretty)
	if r.ReadSample != nil {
		r.ParameterDocs = append(r.ParameterDocs, restful.BodyParameter("body", "").Required(r.ReadSample != deleteOptions))
	}
	if r.Consumes == nil {
		r.Consumes = anyMediaType
	}
	if r.Produces == nil {
		r.Produces = mediaTypes
	}
	b.container.add(&r)
}

// addCollection adds the routes of a collection.
func (b *routeBuilder) addCollection(path, watched string) {
	b.addLists(path, watched, "")
	if b.has("create") {
		b.addCreate(path, "", "")
	}
	if b.has("deletecollection") {
		b.add("deletecollection", "", restful.Route{
			Method: http.MethodDelete, Path: path, Operation: "deletecollection",
			Doc: "delete collection of " + b.Kind, ReadSample: deleteOptions,
			ParameterDocs: slices.Concat(
				options(metav1.DeleteOptions{}), options(metav1.ListOptions{}, "watch", "allowWatchBookmarks")),
			ResponseErrors: respond(status, http.StatusOK),
		})
	}
}

// addLists adds the routes that list and watch objects.
func (b *routeBuilder) addLists(path, watched, suffix string) {
	if b.has("list") {
		doc := "list objects of kind "
		if b.has("watch") {
			doc = "list or watch objects of kind "
		}
		b.add("list", suffix, restful.Route{
			Method: http.MethodGet, Path: path, Operation: "list", Doc: doc + b.Kind,
			ParameterDocs: options(metav1.ListOptions{}), Produces: watchMediaTypes,
			ResponseErrors: respond(b.list, http.StatusOK),
		})
	}
	if b.has("watch") {
		b.addWatch("watchlist", watched, "List"+suffix, "watch individual changes to a list of "+b.Kind+
			". deprecated: use the 'watch' parameter with a list operation instead.")
	}
}

// addWatch adds a route below /watch/.
func (b *routeBuilder) addWatch(action, path, suffix, doc string) {
	b.add(action, suffix, restful.Route{
		Method: http.MethodGet, Path: path, Operation: "watch", Doc: doc,
		ParameterDocs: options(metav1.ListOptions{}), Produces: watchMediaTypes,
		ResponseErrors: respond(watchEvent, http.StatusOK),
	})
}

func (b *routeBuilder) addCreate(path, of, suffix string) {
	b.add("post", suffix, restful.Route{
		Method: http.MethodPost, Path: path, Operation: "create",
		Doc: "create" + of + article(b.Kind) + b.Kind, ReadSample: b.object, ParameterDocs: options(metav1.CreateOptions{}),
		ResponseErrors: respond(b.object, http.StatusOK, http.StatusCreated, http.StatusAccepted),
	})
}

// addAction adds the route of an action.
func (b *routeBuilder) addAction(path string, sub *builtin.Subresource) {
	action := *b
	action.object, action.kind = modelOf(sub.Action.Object), sub.Action.GroupVersionKind()
	action.addCreate(path, " "+sub.Name+" of", openapi.ToValidOperationID(sub.Name, true))
}

// addScale adds the routes of the Scale of an object.
func (b *routeBuilder) addScale(path string, sub *builtin.Subresource) {
	scale := *b
	scale.object, scale.kind = modelOf(&autoscalingv1.Scale{}), sub.GroupVersionKind(b.Definition)
	scale.addObject(path, sub.Name, sub.Verbs)
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
		b.add("get", suffix, restful.Route{
			Method: http.MethodGet, Path: path, Operation: "read", Doc: "read" + specified,
			ResponseErrors: respond(b.object, http.StatusOK),
		})
	}
	if has("update") {
		b.add("put", suffix, restful.Route{
			Method: http.MethodPut, Path: path, Operation: "replace", Doc: "replace" + specified, ReadSample: b.object,
			ParameterDocs:  options(metav1.UpdateOptions{}),
			ResponseErrors: respond(b.object, http.StatusOK, http.StatusCreated),
		})
	}
	if has("patch") {
		b.add("patch", suffix, restful.Route{
			Method: http.MethodPatch, Path: path, Operation: "patch",
			Doc: "partially update" + specified, ReadSample: patch,
			Consumes: patchMediaTypes, ParameterDocs: options(metav1.PatchOptions{}),
			ResponseErrors: respond(b.object, http.StatusOK, http.StatusCreated),
		})
	}
	if has("delete") {
		deleted := status
		if b.ReturnsDeleted {
			deleted = b.object
		}
		b.add("delete", suffix, restful.Route{
			Method: http.MethodDelete, Path: path, Operation: "delete",
			Doc:        "delete" + of + article(b.Kind) + b.Kind,
			ReadSample: deleteOptions, ParameterDocs: options(metav1.DeleteOptions{}),
			ResponseErrors: respond(deleted, http.StatusOK, http.StatusAccepted),
		})
	}
	if subresource != "" && has("create") {
		b.addCreate(path, of, suffix)
	}
}

// options returns the query parameters of options, such as ListOptions, without some of them.
func options(of interface{ SwaggerDoc() map[string]string }, without ...string) []*restful.Parameter {
	docs := of.SwaggerDoc()
	var parameters []*restful.Parameter
	for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		kind := field.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if len(field.Index) > 1 || name == "" || kind.Kind() == reflect.Struct || slices.Contains(without, name) {
			continue
		}
		p := restful.QueryParameter(name, docs[name])
		switch kind.Kind() {
		case reflect.Bool:
			p.DataType("boolean")
		case reflect.Int64:
			p.DataType("integer")
		}
		parameters = append(parameters, p)
	}
	return parameters
}
