package podspec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

func (c *checker) checkContainers(path *field.Path) (errs field.ErrorList) {
	if len(c.spec.Containers) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	names := sets.New[string]()
	for n := range c.spec.Containers {
		container, item := &c.spec.Containers[n], path.Index(n)
		errs = append(errs, c.checkContainer(container, item)...)
		if names.Has(container.Name) {
			errs = append(errs, field.Duplicate(item.Child("name"), container.Name))
		}
		names.Insert(container.Name)
		errs = append(errs, c.checkLifecycle(container, item)...)
		errs = append(errs, checkRestartRules(container, item)...)
	}
	return append(errs, checkPortConflicts(c.spec.Containers, path)...)
}

func (c *checker) checkInitContainers(path *field.Path) (errs field.ErrorList) {
	names := sets.New[string]()
	for n := range c.spec.Containers {
		names.Insert(c.spec.Containers[n].Name)
	}
	for n := range c.spec.InitContainers {
		container, item := &c.spec.InitContainers[n], path.Index(n)
		errs = append(errs, c.checkContainer(container, item)...)
		errs = append(errs, checkRestartRules(container, item)...)
		if names.Has(container.Name) {
			errs = append(errs, field.Duplicate(item.Child("name"), container.Name))
		}
		if container.Name != "" {
			names.Insert(container.Name)
		}
		errs = append(errs, checkPortConflicts([]corev1.Container{*container}, path)...)
		if IsSidecar(container) {
			errs = append(errs, c.checkLifecycle(container, item)...)
		} else {
			errs = append(errs, checkPlainInit(container, item)...)
		}
	}
	return errs
}

// IsSidecar reports whether an init container is one that runs beside the containers.
func IsSidecar(container *corev1.Container) bool {
	return ptr.Deref(container.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways
}

// checkPlainInit checks an init container that ends.
func checkPlainInit(container *corev1.Container, path *field.Path) (errs field.ErrorList) {
	for _, part := range []struct {
		name string
		set  bool
	}{
		{"lifecycle", container.Lifecycle != nil}, {"livenessProbe", container.LivenessProbe != nil},
		{"readinessProbe", container.ReadinessProbe != nil}, {"startupProbe", container.StartupProbe != nil},
	} {
		if part.set {
			errs = append(errs, field.Forbidden(path.Child(part.name),
				"may not be set for init containers without restartPolicy=Always"))
		}
	}
	for n, policy := range container.ResizePolicy {
		if policy.RestartPolicy == corev1.RestartContainer {
			errs = append(errs, field.Invalid(path.Child("resizePolicy").Index(n).Child("restartPolicy"), policy.RestartPolicy,
				"must not be set to 'RestartContainer' for non-sidecar initContainers"))
		}
	}
	return errs
}

// checkContainer checks what containers of all three lists have.
func (c *checker) checkContainer(container *corev1.Container, path *field.Path) (errs field.ErrorList) {
	if container.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	} else {
		errs = append(errs, checkLabel(container.Name, path.Child("name"))...)
	}
	if container.Image == "" {
		errs = append(errs, field.Required(path.Child("image"), ""))
	}
	errs = append(errs, checkOneOf(container.TerminationMessagePolicy, path.Child("terminationMessagePolicy"),
		corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)...)
	errs = append(errs, checkPorts(container.Ports, path.Child("ports"))...)
	errs = append(errs, checkEnv(container.Env, path.Child("env"))...)
	errs = append(errs, checkEnvFrom(container.EnvFrom, path.Child("envFrom"))...)
	errs = append(errs, c.checkMounts(container, path.Child("volumeMounts"))...)
	errs = append(errs, c.checkDevices(container, path.Child("volumeDevices"))...)
	errs = append(errs, checkOneOf(container.ImagePullPolicy, path.Child("imagePullPolicy"),
		corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)...)
	errs = append(errs, checkRequirements(&container.Resources, checkContainerResourceName, path.Child("resources"))...)
	errs = append(errs, c.checkClaimNames(container.Resources.Claims, path.Child("resources", "claims"))...)
	errs = append(errs, c.checkResizePolicy(container.ResizePolicy, path.Child("resizePolicy"))...)
	return append(errs, c.checkSecurity(container.SecurityContext, path.Child("securityContext"))...)
}

func checkPorts(ports []corev1.ContainerPort, path *field.Path) (errs field.ErrorList) {
	names := sets.New[string]()
	for n := range ports {
		port, item := &ports[n], path.Index(n)
		if port.Name != "" {
			bad := invalid(item.Child("name"), port.Name, validation.IsValidPortName(port.Name))
			errs = append(errs, bad...)
			if len(bad) == 0 && names.Has(port.Name) {
				errs = append(errs, field.Duplicate(item.Child("name"), port.Name))
			}
			names.Insert(port.Name)
		}
		number := item.Child("containerPort")
		if port.ContainerPort == 0 {
			errs = append(errs, field.Required(number, ""))
		} else {
			errs = append(errs, invalid(number, port.ContainerPort, validation.IsValidPortNum(int(port.ContainerPort)))...)
		}
		if port.HostPort != 0 {
			errs = append(errs, invalid(item.Child("hostPort"), port.HostPort, validation.IsValidPortNum(int(port.HostPort)))...)
		}
		errs = append(errs, checkOneOf(port.Protocol, item.Child("protocol"),
			corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)...)
	}
	return errs
}

// checkPortConflicts checks that no two containers use the same port of the host.
func checkPortConflicts(containers []corev1.Container, path *field.Path) (errs field.ErrorList) {
	used := sets.New[string]()
	for n := range containers {
		for m, port := range containers[n].Ports {
			if port.HostPort == 0 {
				continue
			}
			name := fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort)
			if used.Has(name) {
				errs = append(errs, field.Duplicate(path.Index(n).Child("ports").Index(m).Child("hostPort"), name))
			}
			used.Insert(name)
		}
	}
	return errs
}

// checkHostPorts checks that containers in the network of the host use its ports.
func (c *checker) checkHostPorts(path *field.Path) (errs field.ErrorList) {
	if !c.spec.HostNetwork {
		return nil
	}
	for n := range c.spec.Containers {
		for m, port := range c.spec.Containers[n].Ports {
			if (c.pod || port.HostPort != 0) && port.HostPort != port.ContainerPort {
				errs = append(errs, field.Invalid(path.Index(n).Child("ports").Index(m).Child("hostPort"), port.HostPort,
					"must match `containerPort` when `hostNetwork` is true"))
			}
		}
	}
	return errs
}

// checkRestartRules checks the restart policy of a container, and the rules that depend on it.
func checkRestartRules(container *corev1.Container, path *field.Path) (errs field.ErrorList) {
	policy, rules := path.Child("restartPolicy"), path.Child("restartPolicyRules")
	switch {
	case container.RestartPolicy != nil:
		errs = append(errs, checkOneOf(*container.RestartPolicy, policy, corev1.ContainerRestartPolicyAlways,
			corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure)...)
	case len(container.RestartPolicyRules) > 0:
		errs = append(errs, field.Required(policy, "must specify restartPolicy when restart rules are used"))
	}
	const maxRules = 20
	if count := len(container.RestartPolicyRules); count > maxRules {
		errs = append(errs, field.TooMany(rules, count, maxRules))
	}
	for n, rule := range container.RestartPolicyRules {
		if rule.ExitCodes == nil {
			errs = append(errs, field.Required(rules.Index(n).Child("exitCodes"), "must be specified"))
		}
	}
	return errs
}

func (c *checker) checkResizePolicy(policies []corev1.ContainerResizePolicy, path *field.Path) (errs field.ErrorList) {
	seen := sets.New[corev1.ResourceName]()
	for n, policy := range policies {
		if seen.Has(policy.ResourceName) {
			errs = append(errs, field.Duplicate(path.Index(n), policy.ResourceName))
		}
		seen.Insert(policy.ResourceName)
		errs = append(errs, checkOneOf(policy.ResourceName, path, corev1.ResourceCPU, corev1.ResourceMemory)...)
		errs = append(errs, checkOneOf(policy.RestartPolicy, path, corev1.NotRequired, corev1.RestartContainer)...)
		if c.spec.RestartPolicy == corev1.RestartPolicyNever && policy.RestartPolicy != corev1.NotRequired {
			errs = append(errs, field.Invalid(path, policy.RestartPolicy,
				"must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
		}
	}
	return errs
}

// checkImageSpaces calls CheckImageSpaces for the images of containers.
func checkImageSpaces(containers []corev1.Container, path *field.Path) (errs field.ErrorList) {
	for n := range containers {
		errs = append(errs, CheckImageSpaces(containers[n].Image, path.Index(n).Child("image"))...)
	}
	return errs
}

// CheckImageSpaces checks that an image of a pod has no space around it. Images of templates are not checked for this,
// as in kube-apiserver.
func CheckImageSpaces(image string, path *field.Path) field.ErrorList {
	if strings.TrimSpace(image) == image {
		return nil
	}
	return field.ErrorList{field.Invalid(path, image, "must not have leading or trailing whitespace")}
}
