package apps

import (
	"encoding/json"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var revisionStrategy = resource.Typed[*appsv1.ControllerRevision]{
	Check: func(r *appsv1.ControllerRevision) field.ErrorList { return append(checkRevision(r), checkData(r)...) },
	CheckUpdate: func(r, old *appsv1.ControllerRevision) field.ErrorList {
		errs := append(resource.CheckMetadataUpdate(&r.ObjectMeta, &old.ObjectMeta), checkRevision(r)...)
		return append(errs, apivalidation.ValidateImmutableField(r.Data, old.Data, field.NewPath("data"))...)
	},
}

func checkRevision(r *appsv1.ControllerRevision) field.ErrorList {
	errs := resource.CheckMetadata(&r.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	return append(errs, apivalidation.ValidateNonnegativeField(r.Revision, field.NewPath("revision"))...)
}

// checkData checks that the data are a JSON object.
func checkData(r *appsv1.ControllerRevision) field.ErrorList {
	path, data := field.NewPath("data"), map[string]any(nil)
	err := json.Unmarshal(r.Data.Raw, &data)
	isMissing := len(r.Data.Raw) == 0 || err == nil && data == nil
	return append(rules.Missing(isMissing, path, "data is mandatory"),
		rules.Missing(!isMissing && err != nil, path, "data must be a valid JSON object")...)
}

var revisionColumns = resource.Columns[*appsv1.ControllerRevision]{
	{Name: "Controller", Doc: "Controller of the object", Cell: func(r *appsv1.ControllerRevision) any {
		owner := metav1.GetControllerOf(r)
		if owner == nil {
			return "<none>"
		}
		kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
		return strings.ToLower(kind.String()) + "/" + owner.Name
	}},
	{Name: "Revision", Field: "revision"},
	{Name: "Age"},
}
