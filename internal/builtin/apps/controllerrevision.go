package apps

import (
	"encoding/json"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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

var revisionColumns = &resource.Columns{
	Definitions: []metav1.TableColumnDefinition{
		resource.NameColumn,
		{Name: "Controller", Type: "string", Description: "Controller of the object"},
		{Name: "Revision", Type: "string", Description: appsv1.ControllerRevision{}.SwaggerDoc()["revision"]},
		resource.AgeColumn,
	},
	Cells: func(obj runtime.Object) []any {
		r := obj.(*appsv1.ControllerRevision)
		controller := "<none>"
		if owner := metav1.GetControllerOf(r); owner != nil {
			kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
			controller = strings.ToLower(kind.String()) + "/" + owner.Name
		}
		return []any{r.Name, controller, r.Revision, resource.Age(r)}
	},
}
