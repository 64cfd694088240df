// Package selection reads which objects a get, list or watch is about, and at which state: the options of the query,
// the namespace, name and selectors, and the resourceVersion.
//
// Begin at options.go; selection.go finds the objects and the state.
package selection

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metainternalvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

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
