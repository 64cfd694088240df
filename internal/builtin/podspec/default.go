package podspec

import (
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// DefaultTemplate sets the defaults of the template of a workload.
func DefaultTemplate(template *corev1.PodTemplateSpec) { Default(&template.Spec) }

// Default sets the defaults that the specification of a pod has wherever it is.
func Default(spec *corev1.PodSpec) {
	spec.ServiceAccountName = firstOf(spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	setIfZero(&spec.DNSPolicy, corev1.DNSClusterFirst)
	setIfZero(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	setIfZero(&spec.SchedulerName, corev1.DefaultSchedulerName)
	resource.Default(&spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	resource.Default(&spec.SecurityContext, corev1.PodSecurityContext{})
	for n := range spec.Volumes {
		defaultVolume(&spec.Volumes[n])
	}
	ForEachContainer(spec, defaultContainer)
	DefaultQuantities(spec.Overhead)
	if spec.Resources != nil {
		defaultRequirements(spec.Resources.Limits, spec.Resources.Requests)
	}
}

// DefaultQuantities rounds quantities up to thousandths, which are the smallest that the API keeps.
func DefaultQuantities(list corev1.ResourceList) {
	for name, quantity := range list {
		quantity.RoundUp(apiresource.Milli)
		list[name] = quantity
	}
}

func defaultRequirements(limits, requests corev1.ResourceList) {
	DefaultQuantities(limits)
	DefaultQuantities(requests)
}

// DefaultClaimSpec sets the defaults of a claim for a volume.
func DefaultClaimSpec(spec *corev1.PersistentVolumeClaimSpec) {
	resource.Default(&spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	defaultRequirements(spec.Resources.Limits, spec.Resources.Requests)
}

// ForEachContainer calls f with the init containers, containers and ephemeral containers of a specification.
func ForEachContainer(spec *corev1.PodSpec, f func(*corev1.Container)) {
	for n := range spec.InitContainers {
		f(&spec.InitContainers[n])
	}
	for n := range spec.Containers {
		f(&spec.Containers[n])
	}
	for n := range spec.EphemeralContainers {
		f((*corev1.Container)(&spec.EphemeralContainers[n].EphemeralContainerCommon))
	}
}

func setIfZero[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
