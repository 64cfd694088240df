package core

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/podspec"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// ResourceQuotaRules are the rules of resource quotas.
type ResourceQuotaRules struct{ resource.Rules }

// DefaultResourceQuota rounds quantities up to thousandths.
func DefaultResourceQuota(obj runtime.Object) {
	quota := obj.(*corev1.ResourceQuota)
	for _, list := range []corev1.ResourceList{quota.Spec.Hard, quota.Status.Hard, quota.Status.Used} {
		podspec.DefaultQuantities(list)
	}
}

// PrepareForCreate clears the status.
func (ResourceQuotaRules) PrepareForCreate(_ context.Context, obj runtime.Object) {
	obj.(*corev1.ResourceQuota).Status = corev1.ResourceQuotaStatus{}
}

// Validate checks the metadata and the spec.
func (ResourceQuotaRules) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	quota := obj.(*corev1.ResourceQuota)
	errs := resource.CheckMetadata(&quota.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	return append(errs, validateQuotaSpec(&quota.Spec)...)
}

// PrepareForUpdate keeps the status.
func (ResourceQuotaRules) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	obj.(*corev1.ResourceQuota).Status = old.(*corev1.ResourceQuota).Status
}

// ValidateUpdate also checks that the scopes do not change.
func (ResourceQuotaRules) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	quota, before := obj.(*corev1.ResourceQuota), old.(*corev1.ResourceQuota)
	errs := resource.CheckMetadataUpdate(&quota.ObjectMeta, &before.ObjectMeta)
	errs = append(errs, validateQuotaSpec(&quota.Spec)...)
	if !sets.New(quota.Spec.Scopes...).Equal(sets.New(before.Spec.Scopes...)) {
		path := field.NewPath("spec", "scopes")
		errs = append(errs, field.Invalid(path, quota.Spec.Scopes, apivalidation.FieldImmutableErrorMsg))
	}
	return errs
}

// WarningsOnCreate warns of requests that exceed their limits.
func (ResourceQuotaRules) WarningsOnCreate(_ context.Context, obj runtime.Object) (warnings []string) {
	hard := obj.(*corev1.ResourceQuota).Spec.Hard
	for _, name := range []corev1.ResourceName{
		corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceStorage, corev1.ResourceEphemeralStorage,
	} {
		requestName, limitName := corev1.DefaultResourceRequestsPrefix+name, "limits."+name
		request, requested := hard[requestName]
		if !requested && (name == corev1.ResourceCPU || name == corev1.ResourceMemory) {
			requestName = name
			request, requested = hard[requestName]
		}
		if limit, limited := hard[limitName]; requested && limited && request.Cmp(limit) > 0 {
			warnings = append(warnings, fmt.Sprintf("ResourceQuota %s (%s) should be less than %s (%s)",
				requestName, request.String(), limitName, limit.String()))
		}
	}
	return warnings
}

// ResourceQuotaStatusRules are the rules of the status of resource quotas.
type ResourceQuotaStatusRules struct{ ResourceQuotaRules }

// PrepareForUpdate keeps the spec.
func (ResourceQuotaStatusRules) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	obj.(*corev1.ResourceQuota).Spec = old.(*corev1.ResourceQuota).Spec
}

// ValidateUpdate checks the quantities of the status.
func (ResourceQuotaStatusRules) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	quota, before := obj.(*corev1.ResourceQuota), old.(*corev1.ResourceQuota)
	errs := resource.CheckMetadataUpdate(&quota.ObjectMeta, &before.ObjectMeta)
	if quota.ResourceVersion == "" {
		errs = append(errs, field.Required(field.NewPath("resourceVersion"), ""))
	}
	errs = append(errs, validateQuotaList(quota.Status.Hard, field.NewPath("status", "hard"))...)
	return append(errs, validateQuotaList(quota.Status.Used, field.NewPath("status", "used"))...)
}

// ResourceQuotaColumns are the printed columns of resource quotas.
var ResourceQuotaColumns = resource.Columns[*corev1.ResourceQuota]{
	{Name: "Request", Cell: func(quota *corev1.ResourceQuota) any { return usedCell(&quota.Status, false) },
		Doc: "Request represents a minimum amount of cpu/memory that a container may consume."},
	{Name: "Limit", Cell: func(quota *corev1.ResourceQuota) any { return usedCell(&quota.Status, true) },
		Doc: "Limits control the maximum amount of cpu/memory that a container may use " +
			"independent of contention on the node."},
	{Name: "Age"},
}

// usedCell says how much of the limits or of the other quantities is used.
func usedCell(status *corev1.ResourceQuotaStatus, limits bool) string {
	var cells []string
	for _, name := range sorted(status.Hard) {
		if strings.HasPrefix(string(name), "limits.") == limits {
			used, hard := status.Used[name], status.Hard[name]
			cells = append(cells, fmt.Sprintf("%s: %s/%s", name, used.String(), hard.String()))
		}
	}
	return strings.Join(cells, ", ")
}
