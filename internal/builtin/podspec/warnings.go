package podspec

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// NameWarnings warns about the name of a workload that is not one of hosts.
func NameWarnings(name string) []string {
	return nameWarnings(name, "this is used in Pod names and hostnames")
}

func nameWarnings(name, use string) []string {
	messages := validation.IsDNS1123Label(name)
	if len(messages) == 0 {
		return nil
	}
	const format = "metadata.name: %s, which can result in surprising behavior; a DNS label is recommended: %v"
	return []string{fmt.Sprintf(format, use, messages)}
}

// WithWarnings lets the strategy of a workload warn about its name, and about the template that it has at a path.
func WithWarnings[T interface {
	runtime.Object
	metav1.Object
}](s resource.Typed[T], path *field.Path, template func(T) *corev1.PodTemplateSpec) resource.Typed[T] {
	s.Warn = func(obj T) []string {
		return append(NameWarnings(obj.GetName()), TemplateWarnings(template(obj), path)...)
	}
	s.WarnUpdate = resource.WhenChanged(func(obj T) []string { return TemplateWarnings(template(obj), path) })
	return s
}

// PodWarnings returns the warnings about a new pod.
func PodWarnings(pod *corev1.Pod) []string {
	warnings := nameWarnings(pod.Name, "this is used in the Pod's hostname")
	return append(warnings, specWarnings(&pod.Spec, field.NewPath("spec"))...)
}

// TemplateWarnings returns the warnings about the template of a workload.
func TemplateWarnings(template *corev1.PodTemplateSpec, path *field.Path) []string {
	if template == nil {
		return nil
	}
	return specWarnings(&template.Spec, path.Child("spec"))
}

func specWarnings(spec *corev1.PodSpec, path *field.Path) (warnings []string) {
	warn := func(path *field.Path, format string, args ...any) {
		warnings = append(warnings, path.String()+": "+fmt.Sprintf(format, args...))
	}
	for n, constraint := range spec.TopologySpreadConstraints {
		if constraint.LabelSelector == nil {
			warn(path.Child("topologySpreadConstraints").Index(n).Child("labelSelector"),
				"a null labelSelector results in matching no pod")
		}
	}
	secrets := path.Child("imagePullSecrets")
	seen := sets.New[string]()
	for n, secret := range spec.ImagePullSecrets {
		if seen.Has(secret.Name) {
			warn(secrets.Index(n).Child("name"), "duplicate name %q", secret.Name)
		}
		seen.Insert(secret.Name)
	}
	for n, secret := range spec.ImagePullSecrets {
		if secret.Name == "" {
			warn(secrets.Index(n).Child("name"), "invalid empty name %q", secret.Name)
		}
	}
	containers := namedContainers(spec, path)
	for _, c := range containers {
		quantityWarnings(c.Container, c.path, warn)
		variableWarnings(c.Env, c.path, warn)
	}
	portWarnings(containers, warn)
	if seconds := spec.TerminationGracePeriodSeconds; seconds != nil && *seconds < 0 {
		warn(path.Child("terminationGracePeriodSeconds"),
			"must be >= 0; negative values are invalid and will be treated as 1")
	}
	return warnings
}

// namedContainer is a container and its path.
type namedContainer struct {
	*corev1.Container
	path *field.Path
}

// namedContainers returns the containers in the order in which kube-apiserver visits them.
func namedContainers(spec *corev1.PodSpec, path *field.Path) (all []namedContainer) {
	for n := range spec.InitContainers {
		all = append(all, namedContainer{&spec.InitContainers[n], path.Child("initContainers").Index(n)})
	}
	for n := range spec.Containers {
		all = append(all, namedContainer{&spec.Containers[n], path.Child("containers").Index(n)})
	}
	for n := range spec.EphemeralContainers {
		c := (*corev1.Container)(&spec.EphemeralContainers[n].EphemeralContainerCommon)
		all = append(all, namedContainer{c, path.Child("ephemeralContainers").Index(n)})
	}
	return all
}

// warner adds a warning about a field.
type warner func(path *field.Path, format string, args ...any)

func quantityWarnings(c *corev1.Container, path *field.Path, warn warner) {
	for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		for _, list := range []struct {
			name       string
			quantities corev1.ResourceList
		}{{"limits", c.Resources.Limits}, {"requests", c.Resources.Requests}} {
			if quantity, found := list.quantities[name]; found && quantity.MilliValue()%1000 != 0 {
				warn(path.Child("resources", list.name).Key(string(name)),
					"fractional byte value %q is invalid, must be an integer", quantity.String())
			}
		}
	}
}

// variableWarnings warns about variables that are set twice, unless the second one refers to the first.
func variableWarnings(variables []corev1.EnvVar, path *field.Path, warn warner) {
	seen := sets.New[string]()
	for n, variable := range variables {
		reference := "$(" + variable.Name + ")"
		extends := variable.ValueFrom == nil && variable.Value != reference && strings.Contains(variable.Value, reference)
		if seen.Has(variable.Name) && !extends {
			warn(path.Child("env").Index(n),
				"hides previous definition of %q, which may be dropped when using apply", variable.Name)
		}
		seen.Insert(variable.Name)
	}
}

// namedPort is a port and its path.
type namedPort struct {
	corev1.ContainerPort
	path *field.Path
}

// portWarnings warns about ports that different containers have.
func portWarnings(containers []namedContainer, warn warner) {
	var ports []namedPort
	for _, c := range containers {
		for n, port := range c.Ports {
			next := namedPort{port, c.path.Child("ports").Index(n)}
			for _, other := range ports {
				if other.ContainerPort.ContainerPort == port.ContainerPort && other.Protocol == port.Protocol {
					samePortWarning(next, other, warn)
				}
			}
			ports = append(ports, next)
		}
	}
	for n, port := range ports {
		same := slices.IndexFunc(ports[:n], func(other namedPort) bool { return port.Name != "" && other.Name == port.Name })
		if same >= 0 {
			warn(port.path, "duplicate port name %q with %s, services and probes that select ports by name will use %s",
				port.Name, ports[same].path, ports[same].path)
		}
	}
}

func samePortWarning(port, other namedPort, warn warner) {
	switch {
	case port.HostIP == other.HostIP && port.HostPort == other.HostPort:
		warn(port.path, "duplicate port definition with %s", other.path)
	case port.HostPort == 0 || other.HostPort == 0:
		warn(port.path, "overlapping port definition with %s", other.path)
	case port.HostPort == other.HostPort && (port.HostIP == "") != (other.HostIP == ""):
		warn(port.path, "dangerously ambiguous port definition with %s", other.path)
	}
}
