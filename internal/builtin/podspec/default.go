package podspec

import (
	_ "embed"
	"iter"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

//go:embed default.yaml
var defaultValues []byte

var setDefaults = resource.Defaults[corev1.PodSpec](defaultValues)

// DefaultTemplate sets the defaults of the template of a workload.
func DefaultTemplate(template *corev1.PodTemplateSpec) { Default(&template.Spec) }

// Default sets the defaults that the specification of a pod has wherever it is.
func Default(spec *corev1.PodSpec) {
	setDefaults(spec)
	resource.DefaultValue(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	for n := range spec.Volumes {
		defaultVolume(&spec.Volumes[n].VolumeSource)
	}
	ForEachContainer(spec, func(c *corev1.Container) {
		resource.DefaultValue(&c.ImagePullPolicy, pullPolicy(c.Image))
		defaultRequirements(c.Resources.Limits, c.Resources.Requests)
	})
	DefaultQuantities(spec.Overhead)
	if spec.Resources != nil {
		defaultRequirements(spec.Resources.Limits, spec.Resources.Requests)
	}
}

func defaultVolume(source *corev1.VolumeSource) {
	if ptr.AllPtrFieldsNil(source) {
		source.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
	if source.Image != nil {
		resource.DefaultValue(&source.Image.PullPolicy, pullPolicy(source.Image.Reference))
	}
	if source.Ephemeral != nil && source.Ephemeral.VolumeClaimTemplate != nil {
		DefaultClaimSpec(&source.Ephemeral.VolumeClaimTemplate.Spec)
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

// containersOf returns the init containers and the containers of a specification.
func containersOf(spec *corev1.PodSpec) iter.Seq[*corev1.Container] {
	return func(yield func(*corev1.Container) bool) {
		for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
			for n := range list {
				if !yield(&list[n]) {
					return
				}
			}
		}
	}
}

// ForEachContainer calls f with the init containers, containers and ephemeral containers of a specification.
func ForEachContainer(spec *corev1.PodSpec, f func(*corev1.Container)) {
	for c := range containersOf(spec) {
		f(c)
	}
	for n := range spec.EphemeralContainers {
		f((*corev1.Container)(&spec.EphemeralContainers[n].EphemeralContainerCommon))
	}
}

// pullPolicy returns the policy for an image without one: images that are tagged latest, or not tagged, may change.
func pullPolicy(image string) corev1.PullPolicy {
	name, _, byDigest := strings.Cut(image, "@")
	_, tag, tagged := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
	if tag == "latest" || !tagged && !byDigest && name != "" {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

// DefaultPod sets the defaults of a pod. Those that Default does not set are of pods only, not of templates.
func DefaultPod(pod *corev1.Pod) {
	spec := &pod.Spec
	if seconds := spec.TerminationGracePeriodSeconds; seconds != nil && *seconds < 0 {
		*seconds = 1
	}
	for c := range containersOf(spec) {
		if limits := c.Resources.Limits; limits != nil { // what is limited is requested
			requests := maps.Clone(limits)
			maps.Copy(requests, c.Resources.Requests)
			c.Resources.Requests = requests
		}
		for n := range c.Ports {
			if spec.HostNetwork {
				resource.DefaultValue(&c.Ports[n].HostPort, c.Ports[n].ContainerPort)
			}
		}
	}
	resource.Default(&spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	Default(spec)
	defaultAddresses(&pod.Status)
}

// defaultAddresses makes the address and the list of addresses agree.
func defaultAddresses(status *corev1.PodStatus) {
	switch {
	case status.PodIP == "" && len(status.PodIPs) > 0:
		status.PodIP = status.PodIPs[0].IP
	case status.PodIP != "" && (len(status.PodIPs) == 0 || status.PodIPs[0].IP != status.PodIP):
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	}
}

// TakeNodeAffinity takes what another specification says about the nodes of a pod.
func TakeNodeAffinity(to, from *corev1.PodSpec) {
	affinity := ptr.Deref(to.Affinity, corev1.Affinity{})
	affinity.NodeAffinity = ptr.Deref(from.Affinity, corev1.Affinity{}).NodeAffinity
	to.Affinity = &affinity
	if from.Affinity == nil && affinity == (corev1.Affinity{}) {
		to.Affinity = nil
	}
}
