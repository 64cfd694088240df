package crdhandler

import (
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
	// matched is the object looked at, kept here so that not every one of them is allocated. A selection belongs
	// to one request.
	matched *objectFields
}

// selection narrows a request by namespace and selectors. Only the first page of a list can be narrowed by the field
// selector: a continue token is relative to what the request itself names.
func (s *requestScope) selection(namespace string, opts *metainternal.ListOptions) selection {
	sel := selection{matched: &objectFields{}}
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

// everything says that nothing but the place of an object matters.
func (sel selection) everything() bool { return sel.labels == nil && sel.fields == nil }

// covers says whether a key is within the selection's place.
func (sel selection) covers(key string) bool {
	if sel.key != "" {
		return key == sel.key
	}
	return len(key) >= len(sel.prefix) && key[:len(sel.prefix)] == sel.prefix
}

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
