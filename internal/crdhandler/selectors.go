package crdhandler

import (
	"cmp"
	"context"
	"iter"
	"net/http"

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
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// listOptions reads, defaults and validates the query of a list, watch or deletecollection (L3, L8, H2). The name in
// a path, which old watches of one object have, becomes a field selector.
func (s *requestScope) listOptions(req *http.Request) (*metainternal.ListOptions, error) {
	opts := &metainternal.ListOptions{}
	if err := metainternalscheme.ParameterCodec.DecodeParameters(req.URL.Query(), metav1.SchemeGroupVersion, opts); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	watchList := utilfeature.DefaultFeatureGate.Enabled(features.WatchList)
	metainternal.SetListOptionsDefaults(opts, watchList)
	if errs := metainternalvalidation.ValidateListOptions(opts, watchList); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	if opts.FieldSelector != nil {
		selector, err := opts.FieldSelector.Transform(func(label, value string) (string, string, error) {
			return s.objects.convertor.ConvertFieldLabel(s.kind, label, value)
		})
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		opts.FieldSelector = selector
	}
	_, name := s.target(req)
	return opts, selectName(opts, name)
}

// selectName adds the name a request is for to its field selector, which must not name another one.
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

// selection says which objects of a resource a list or watch is about.
type selection struct {
	// prefix of the storage keys: all of a namespace, or "".
	prefix string
	// key is set when only one object can be meant.
	key string
	// labels and fields are nil when they select everything.
	labels labels.Selector
	fields fields.Selector
	// storage has the objects.
	storage *storage
	// matched is the object looked at, kept here so that not every one of them is allocated. A selection belongs
	// to one request.
	matched *objectFields
}

// selection narrows a request by namespace and selectors. Only the first page of a list can be narrowed by the field
// selector: a continue token is relative to what the request itself names.
func (s *requestScope) selection(namespace string, opts *metainternal.ListOptions) selection {
	sel := selection{storage: s.storage, matched: &objectFields{}}
	if opts.LabelSelector != nil && !opts.LabelSelector.Empty() {
		sel.labels = opts.LabelSelector
	}
	if opts.FieldSelector != nil && !opts.FieldSelector.Empty() {
		sel.fields = opts.FieldSelector
	}
	name := ""
	if sel.fields != nil && opts.Continue == "" {
		name, _ = sel.fields.RequiresExactMatch("metadata.name")
		selected, ok := sel.fields.RequiresExactMatch("metadata.namespace")
		if ok && s.namespaced && namespace == "" && len(validation.ValidateNamespaceName(selected, false)) == 0 {
			namespace = selected
		}
	}
	if s.namespaced && namespace != "" {
		sel.prefix = namespace + "/"
	}
	if name != "" {
		if key, err := s.objectKey(namespace, name); err == nil {
			sel.key = key
		}
	}
	return sel
}

// requirements returns what the selectors demand that an index can find. What else they say, matches has to see.
func (sel selection) requirements() (requirements []dynamicstorage.Requirement) {
	if sel.labels != nil {
		demanded, _ := sel.labels.Requirements()
		for _, r := range demanded {
			switch r.Operator() {
			case operators.Equals, operators.DoubleEquals, operators.In:
				requirements = append(requirements, dynamicstorage.Requirement{Kind: dynamicstorage.Label, Name: r.Key(), Values: r.Values().List()})
			case operators.Exists, operators.GreaterThan, operators.LessThan:
				requirements = append(requirements, dynamicstorage.Requirement{Kind: dynamicstorage.Label, Name: r.Key()})
			}
		}
	}
	if sel.fields != nil {
		for _, r := range sel.fields.Requirements() {
			declared := r.Field != "metadata.name" && r.Field != "metadata.namespace"
			if declared && (r.Operator == operators.Equals || r.Operator == operators.DoubleEquals) {
				requirements = append(requirements, dynamicstorage.Requirement{Kind: dynamicstorage.Field, Name: r.Field, Values: []string{r.Value}})
			}
		}
	}
	return requirements
}

// candidates returns the entries of a snapshot, from a key on if it is not "", that may be selected, in the order of their
// keys: all of them, and some others that matches has to drop. They cost about what they are, not what else there is.
func (sel selection) candidates(ctx context.Context, snapshot *dynamicstorage.Snapshot, start string) iter.Seq2[*dynamicstorage.Entry, error] {
	if sel.key != "" {
		return sel.only(snapshot.Ascend(ctx, sel.key, start))
	}
	requirements := sel.requirements()
	if len(requirements) == 0 {
		return snapshot.Ascend(ctx, sel.prefix, start)
	}
	return snapshot.Select(ctx, dynamicstorage.Query{
		Viewer:       sel.storage.viewer,
		StoredLabels: sel.storage.codec.keepsLabels(),
		Prefix:       sel.prefix,
		Start:        start,
		Requirements: requirements,
	})
}

// only returns the entry of the selection's key, which is the first if there is one.
func (sel selection) only(entries iter.Seq2[*dynamicstorage.Entry, error]) iter.Seq2[*dynamicstorage.Entry, error] {
	return func(yield func(*dynamicstorage.Entry, error) bool) {
		for entry, err := range entries {
			if err != nil || entry.Key == sel.key {
				yield(entry, err)
			}
			return
		}
	}
}

// everything says that nothing but the place of an object matters.
func (sel selection) everything() bool { return sel.labels == nil && sel.fields == nil }

// keys is the selection's place: a key, those below a namespace, or all.
func (sel selection) keys() string { return cmp.Or(sel.key, sel.prefix) }

// matches says whether an object within the place is selected.
func (sel selection) matches(key string, view *dynamicstorage.View) bool {
	if sel.labels != nil && !sel.labels.Matches(&view.Labels) {
		return false
	}
	if sel.fields == nil {
		return true
	}
	*sel.matched = objectFields{key: key, declared: &view.Fields}
	return sel.fields.Matches(sel.matched)
}

// objectFields are the fields of an object that a selector may name: name, namespace, and those its version declares.
type objectFields struct {
	key      string
	declared *dynamicstorage.Pairs
}

var _ fields.Fields = &objectFields{}

func (f *objectFields) Has(field string) bool {
	return f.declared.Has(field) || field == "metadata.name" || field == "metadata.namespace"
}

func (f *objectFields) Get(field string) string {
	switch field {
	case "metadata.name":
		return nameOfKey(f.key)
	case "metadata.namespace":
		return namespaceOfKey(f.key)
	}
	return f.declared.Get(field)
}
