// Package selection reads which objects a get, list or watch is about, and at which state: the options of the query,
// the namespace, name and selectors, and the resourceVersion.
package selection

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metainternalvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	operators "k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Selection says which objects of a resource a list or watch is about. It belongs to one request.
type Selection struct {
	// Prefix is what the keys of the objects begin with: a namespace and a slash, or "".
	Prefix string
	// Key is set if the selection can have one object only.
	Key string

	// labels and fields are nil if they select everything.
	labels labels.Selector
	fields fields.Selector
	index  Index
	// object is the one that Matches looks at, held here so that Matches does not allocate one for each call.
	object *objectFields
}

// Index finds objects by labels and fields.
type Index struct {
	// Viewer makes the views that have the labels and fields.
	Viewer *dynamicstorage.Viewer
	// StoredLabels reports whether views have the labels of the stored objects.
	StoredLabels func() bool
}

// Request is what a client asks for.
type Request struct {
	// Namespaced says that the resource has namespaces.
	Namespaced bool
	// Namespace is the one in the path, or "".
	Namespace string
	Options   *metainternal.ListOptions
}

// New returns the selection of a request. Field selectors narrow the keys only on the first page of a list: a continue
// token is relative to the keys that the path names.
func New(r Request, index Index) Selection {
	sel := Selection{index: index, object: &objectFields{}}
	if r.Options.LabelSelector != nil && !r.Options.LabelSelector.Empty() {
		sel.labels = r.Options.LabelSelector
	}
	if r.Options.FieldSelector != nil && !r.Options.FieldSelector.Empty() {
		sel.fields = r.Options.FieldSelector
	}
	name, namespace := "", r.Namespace
	if sel.fields != nil && r.Options.Continue == "" {
		name, _ = sel.fields.RequiresExactMatch("metadata.name")
		selected, ok := sel.fields.RequiresExactMatch("metadata.namespace")
		if ok && r.Namespaced && namespace == "" && len(validation.ValidateNamespaceName(selected, false)) == 0 {
			namespace = selected
		}
	}
	if r.Namespaced && namespace != "" {
		sel.Prefix = namespace + "/"
	}
	if name != "" {
		if key, err := stored.Key(r.Namespaced, namespace, name); err == nil {
			sel.Key = key
		}
	}
	return sel
}

// Everything reports whether the selection has no selectors: only the key of an object decides.
func (sel *Selection) Everything() bool { return sel.labels == nil && sel.fields == nil }

// Scope is the selection's key or, without one, its prefix: the keys to watch.
func (sel *Selection) Scope() string { return cmp.Or(sel.Key, sel.Prefix) }

// Candidates returns the entries of a snapshot that may be selected, in the order of their keys and from start on. They
// are all that are selected and some others, which Matches drops. An index finds them where it can.
func (sel *Selection) Candidates(
	ctx context.Context, snapshot *dynamicstorage.Snapshot, start string,
) iter.Seq2[*dynamicstorage.Entry, error] {
	if sel.Key != "" {
		return sel.only(snapshot.Ascend(ctx, sel.Key, start))
	}
	requirements := sel.requirements()
	if len(requirements) == 0 {
		return snapshot.Ascend(ctx, sel.Prefix, start)
	}
	return snapshot.Select(ctx, dynamicstorage.Query{
		Viewer:       sel.index.Viewer,
		StoredLabels: sel.index.StoredLabels(),
		Prefix:       sel.Prefix,
		Start:        start,
		Requirements: requirements,
	})
}

// only returns the entry at the selection's key, which is the first of entries if it exists.
func (sel *Selection) only(entries iter.Seq2[*dynamicstorage.Entry, error]) iter.Seq2[*dynamicstorage.Entry, error] {
	return func(yield func(*dynamicstorage.Entry, error) bool) {
		for entry, err := range entries {
			if err != nil || entry.Key == sel.Key {
				yield(entry, err)
			}
			return
		}
	}
}

// requirements returns the terms of the selectors that an index can find. Matches checks the others.
func (sel *Selection) requirements() (requirements []dynamicstorage.Requirement) {
	if sel.labels != nil {
		demanded, _ := sel.labels.Requirements()
		for _, r := range demanded {
			switch r.Operator() {
			case operators.Equals, operators.DoubleEquals, operators.In:
				requirements = append(requirements, dynamicstorage.Requirement{Kind: dynamicstorage.Label, Name: r.Key(),
					Values: r.Values().List()})
			case operators.Exists, operators.GreaterThan, operators.LessThan:
				requirements = append(requirements, dynamicstorage.Requirement{Kind: dynamicstorage.Label, Name: r.Key()})
			}
		}
	}
	if sel.fields != nil {
		for _, r := range sel.fields.Requirements() {
			declared := r.Field != "metadata.name" && r.Field != "metadata.namespace"
			if declared && (r.Operator == operators.Equals || r.Operator == operators.DoubleEquals) {
				requirements = append(requirements, dynamicstorage.Requirement{Kind: dynamicstorage.Field, Name: r.Field,
					Values: []string{r.Value}})
			}
		}
	}
	return requirements
}

// Matches reports whether the selectors select an object. The caller knows that its key is in the selection's scope.
func (sel *Selection) Matches(key string, view *dynamicstorage.View) bool {
	if sel.labels != nil && !sel.labels.Matches(&view.Labels) {
		return false
	}
	if sel.fields == nil {
		return true
	}
	*sel.object = objectFields{key: key, declared: &view.Fields}
	return sel.fields.Matches(sel.object)
}

// objectFields are the fields of an object that a selector may name: name, namespace, and those its version declares.
type objectFields struct {
	key      string
	declared *dynamicstorage.Pairs
}

var _ fields.Fields = &objectFields{}

// Has implements fields.Fields.
func (f *objectFields) Has(field string) bool {
	return f.declared.Has(field) || field == "metadata.name" || field == "metadata.namespace"
}

// Get implements fields.Fields.
func (f *objectFields) Get(field string) string {
	switch field {
	case "metadata.name":
		return stored.Name(f.key)
	case "metadata.namespace":
		return stored.Namespace(f.key)
	}
	return f.declared.Get(field)
}

// ReadAt returns the state that the resourceVersion of a GET asks for: the latest, any, or one that is not older.
func ReadAt(resourceVersion string) (dynamicstorage.ReadAt, error) {
	if resourceVersion == "" {
		return dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent}, nil
	}
	revision, err := ParseResourceVersion(resourceVersion)
	if err != nil {
		return dynamicstorage.ReadAt{}, err
	}
	return NotOlderThan(revision), nil
}

// NotOlderThan returns the state at a revision or a later one. Revision 0 means any state.
func NotOlderThan(revision int64) dynamicstorage.ReadAt {
	if revision == 0 {
		return dynamicstorage.ReadAt{Mode: dynamicstorage.Any}
	}
	return dynamicstorage.ReadAt{Mode: dynamicstorage.NotOlderThan, Revision: revision}
}

// ParseResourceVersion parses the resourceVersion of a request; "" is 0. The error has upstream's text and no API
// reason: GET and watch answer it with 500, list with 400.
func ParseResourceVersion(resourceVersion string) (int64, error) {
	if resourceVersion == "" || resourceVersion == "0" {
		return 0, nil
	}
	revision, err := strconv.ParseUint(resourceVersion, 10, 63)
	if err != nil {
		return 0, field.ErrorList{field.Invalid(field.NewPath("resourceVersion"), resourceVersion, err.Error())}.ToAggregate()
	}
	return int64(revision), nil
}

// Options reads, defaults and validates the query of a list, watch or deletecollection (L3, L8, H2). convert checks the
// field labels of the resource. name is the name in the path, which old watches of one object have; it becomes a field
// selector.
func Options(req *http.Request, name string, convert fields.TransformFunc) (*metainternal.ListOptions, error) {
	opts := &metainternal.ListOptions{}
	if err := metainternalscheme.ParameterCodec.DecodeParameters(req.URL.Query(), metav1.SchemeGroupVersion,
		opts); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	watchList := utilfeature.DefaultFeatureGate.Enabled(features.WatchList)
	metainternal.SetListOptionsDefaults(opts, watchList)
	if errs := metainternalvalidation.ValidateListOptions(opts, watchList); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	if opts.FieldSelector != nil {
		selector, err := opts.FieldSelector.Transform(convert)
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		opts.FieldSelector = selector
	}
	return opts, selectName(opts, name)
}

// selectName adds a name to the field selector, which must not require another name.
func selectName(opts *metainternal.ListOptions, name string) error {
	if name == "" {
		return nil
	}
	if opts.FieldSelector == nil || opts.FieldSelector.Empty() {
		opts.FieldSelector = fields.OneTermEqualSelector("metadata.name", name)
		return nil
	}
	if selected, ok := opts.FieldSelector.RequiresExactMatch("metadata.name"); !ok || selected != name {
		return apierrors.NewBadRequest("fieldSelector metadata.name doesn't match requested name")
	}
	return nil
}
