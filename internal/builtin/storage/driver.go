package storage

import (
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func driverDefinition() *resource.Definition {
	return &resource.Definition{
		GroupVersion: storagev1.SchemeGroupVersion, Kind: "CSIDriver", Plural: "csidrivers", Singular: "csidriver",
		Object: &storagev1.CSIDriver{}, List: &storagev1.CSIDriverList{},
		Default: defaultDriver, Columns: driverColumns, ReturnsDeleted: true,
		Strategy: resource.Typed[*storagev1.CSIDriver]{
			Check: func(obj *storagev1.CSIDriver) field.ErrorList {
				errs := resource.CheckClusterMetadata(&obj.ObjectMeta, apivalidation.NameIsDNSSubdomain)
				return append(errs, checkDriver(&obj.Spec, field.NewPath("spec"))...)
			},
			Warn: driverWarnings,
			PrepareUpdate: func(obj, old *storagev1.CSIDriver) {
				if !apiequality.Semantic.DeepEqual(obj.Spec, old.Spec) {
					obj.Generation = old.Generation + 1
				}
			},
			CheckUpdate: checkDriverUpdate,
			WarnUpdate: func(obj, old *storagev1.CSIDriver) []string {
				if apiequality.Semantic.DeepEqual(obj.Spec.TokenRequests, old.Spec.TokenRequests) {
					return nil
				}
				return driverWarnings(obj)
			},
			RequiresVersion: true,
		},
	}
}

func defaultDriver(obj runtime.Object) {
	spec := &obj.(*storagev1.CSIDriver).Spec
	if spec.AttachRequired == nil {
		spec.AttachRequired = new(true)
	}
	for _, flag := range []**bool{
		&spec.PodInfoOnMount, &spec.StorageCapacity, &spec.RequiresRepublish, &spec.SELinuxMount,
		&spec.PreventPodSchedulingIfMissing,
	} {
		if *flag == nil {
			*flag = new(false)
		}
	}
	if spec.FSGroupPolicy == nil {
		spec.FSGroupPolicy = new(storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)
	}
	if len(spec.VolumeLifecycleModes) == 0 {
		spec.VolumeLifecycleModes = []storagev1.VolumeLifecycleMode{storagev1.VolumeLifecyclePersistent}
	}
}

// minUpdatePeriod is the shortest period of a driver's reports, in seconds.
const minUpdatePeriod = 10

func checkDriver(spec *storagev1.CSIDriverSpec, path *field.Path) (errs field.ErrorList) {
	for _, flag := range []struct {
		name  string
		value *bool
	}{
		{"attachedRequired", spec.AttachRequired}, {"podInfoOnMount", spec.PodInfoOnMount},
		{"storageCapacity", spec.StorageCapacity}, {"seLinuxMount", spec.SELinuxMount},
		{"preventPodSchedulingIfMissing", spec.PreventPodSchedulingIfMissing},
	} {
		if flag.value == nil {
			errs = append(errs, field.Required(path.Child(flag.name), ""))
		}
	}
	if policy := spec.FSGroupPolicy; policy != nil {
		errs = append(errs, resource.CheckSupported(path.Child("fsGroupPolicy"), *policy, storagev1.FileFSGroupPolicy,
			storagev1.NoneFSGroupPolicy, storagev1.ReadWriteOnceWithFSTypeFSGroupPolicy)...)
	}
	errs = append(errs, checkTokenRequests(spec.TokenRequests, path.Child("tokenRequests"))...)
	for _, mode := range spec.VolumeLifecycleModes {
		errs = append(errs, resource.CheckSupported(path.Child("volumeLifecycleModes"), mode,
			storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral)...)
	}
	if period := spec.NodeAllocatableUpdatePeriodSeconds; period != nil && *period < minUpdatePeriod {
		errs = append(errs, field.Invalid(path.Child("nodeAllocatableUpdatePeriodSeconds"), *period,
			"must be greater than or equal to 10 seconds"))
	}
	if inSecrets := spec.ServiceAccountTokenInSecrets; inSecrets != nil && len(spec.TokenRequests) == 0 {
		errs = append(errs, field.Invalid(path.Child("serviceAccountTokenInSecrets"), inSecrets,
			"serviceAccountTokenInSecrets is set but no tokenRequests are specified"))
	}
	return errs
}

// Limits of the lifetime of a token, in seconds.
const (
	minTokenSeconds = 10 * 60
	maxTokenSeconds = 1 << 32
)

func checkTokenRequests(requests []storagev1.TokenRequest, path *field.Path) (errs field.ErrorList) {
	audiences := sets.New[string]()
	for n, request := range requests {
		at := path.Index(n)
		if audiences.Has(request.Audience) {
			errs = append(errs, field.Duplicate(at.Child("audience"), request.Audience))
			continue
		}
		audiences.Insert(request.Audience)
		seconds := request.ExpirationSeconds
		switch {
		case seconds == nil:
		case *seconds < minTokenSeconds:
			errs = append(errs, field.Invalid(at.Child("expirationSeconds"), *seconds,
				"may not specify a duration less than 10 minutes"))
		case *seconds > maxTokenSeconds:
			errs = append(errs, field.Invalid(at.Child("expirationSeconds"), *seconds,
				"may not specify a duration larger than 2^32 seconds"))
		}
	}
	return errs
}

func checkDriverUpdate(obj, old *storagev1.CSIDriver) field.ErrorList {
	errs := resource.CheckMetadataUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("spec")
	errs = append(errs, checkDriver(&obj.Spec, path)...)
	errs = append(errs, apivalidation.ValidateImmutableField(
		obj.Spec.AttachRequired, old.Spec.AttachRequired, path.Child("attachedRequired"))...)
	return append(errs, apivalidation.ValidateImmutableField(
		obj.Spec.VolumeLifecycleModes, old.Spec.VolumeLifecycleModes, path.Child("volumeLifecycleModes"))...)
}

func driverWarnings(obj *storagev1.CSIDriver) []string {
	if len(obj.Spec.TokenRequests) == 0 || obj.Spec.ServiceAccountTokenInSecrets != nil {
		return nil
	}
	return []string{"spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, " +
		"set to true to prevent possible logging of tokens in volume attributes"}
}

// maxDriverName is the length of the name of a driver.
const maxDriverName = 63

// checkDriverName returns the errors of the name of a driver in another object.
func checkDriverName(name string, path *field.Path) (errs field.ErrorList) {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if len(name) > maxDriverName {
		errs = append(errs, field.TooLong(path, "", maxDriverName))
	}
	for _, message := range validation.IsDNS1123Subdomain(strings.ToLower(name)) {
		errs = append(errs, field.Invalid(path, name, message))
	}
	return errs
}

// checkAttacher is checkDriverName with the messages of declarative rules.
func checkAttacher(name string, path *field.Path) (errs field.ErrorList) {
	if name == "" {
		return field.ErrorList{resource.Missing(path)}
	}
	if len(name) > maxDriverName {
		errs = append(errs, field.TooLong(path, "", maxDriverName))
	}
	//lint:ignore SA1019 kube-apiserver accepts capital letters here
	errs = append(errs, resource.CheckValue(path, name, content.IsDNS1123SubdomainCaseless)...)
	return errs.MarkCoveredByDeclarative()
}

var driverColumns = &resource.Columns{
	Definitions: driverColumnDefinitions(),
	Cells: func(obj runtime.Object) []any {
		driver := obj.(*storagev1.CSIDriver)
		spec := &driver.Spec
		var modes, audiences []string
		for _, mode := range spec.VolumeLifecycleModes {
			modes = append(modes, string(mode))
		}
		for _, request := range spec.TokenRequests {
			audiences = append(audiences, request.Audience)
		}
		modeCell, audienceCell := strings.Join(modes, ","), strings.Join(audiences, ",")
		if modeCell == "" {
			modeCell = "<none>"
		}
		if spec.TokenRequests == nil {
			audienceCell = unset
		}
		return []any{
			driver.Name, ptr.Deref(spec.AttachRequired, true), ptr.Deref(spec.PodInfoOnMount, false),
			ptr.Deref(spec.StorageCapacity, false), audienceCell, ptr.Deref(spec.RequiresRepublish, false), modeCell,
			resource.Age(driver),
		}
	},
}

func driverColumnDefinitions() []metav1.TableColumnDefinition {
	fields := storagev1.CSIDriverSpec{}.SwaggerDoc()
	boolean := func(name, description string) metav1.TableColumnDefinition {
		return metav1.TableColumnDefinition{Name: name, Type: "boolean", Description: description}
	}
	return []metav1.TableColumnDefinition{
		resource.NameColumn,
		boolean("AttachRequired", fields["attachRequired"]),
		boolean("PodInfoOnMount", fields["podInfoOnMount"]),
		boolean("StorageCapacity", fields["storageCapacity"]),
		resource.TextColumn("TokenRequests", fields["tokenRequests"]),
		boolean("RequiresRepublish", fields["requiresRepublish"]),
		resource.TextColumn("Modes", fields["volumeLifecycleModes"]),
		resource.AgeColumn,
	}
}
