package podspec

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

func (c *checker) checkContainers(path *field.Path) (errs field.ErrorList) {
	if len(c.spec.Containers) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	names := sets.New[string]()
	for n := range c.spec.Containers {
		container, item := &c.spec.Containers[n], path.Index(n)
		errs = append(errs, slices.Concat(
			c.checkContainer(container, item),
			checkNew(names, container.Name, item.Child("name")),
			c.checkLifecycle(container, item),
			checkRestartPolicy(container, item),
			checkRestartRules(container, item.Child("restartPolicyRules")),
		)...)
	}
	return append(errs, checkPortConflicts(c.spec.Containers, path)...)
}

// checkNew checks that a name is not among others, and adds it to them.
func checkNew(names sets.Set[string], name string, path *field.Path) field.ErrorList {
	errs := rules.When(names.Has(name), field.Duplicate(path, name))
	names.Insert(name)
	return errs
}

func (c *checker) containerNames() sets.Set[string] {
	names := sets.New[string]()
	for n := range c.spec.Containers {
		names.Insert(c.spec.Containers[n].Name)
	}
	return names
}

func (c *checker) checkInitContainers(path *field.Path) (errs field.ErrorList) {
	names := c.containerNames()
	for n := range c.spec.InitContainers {
		container, item := &c.spec.InitContainers[n], path.Index(n)
		errs = append(errs, slices.Concat(c.checkContainer(container, item), checkRestartPolicy(container, item))...)
		if container.RestartPolicy != nil {
			errs = append(errs, checkRestartRules(container, item.Child("restartPolicyRules"))...)
		}
		errs = append(errs, slices.Concat(
			checkNew(names, container.Name, item.Child("name")),
			checkPortConflicts([]corev1.Container{*container}, path),
		)...)
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
func checkPlainInit(container *corev1.Container, path *field.Path) field.ErrorList {
	const message = "may not be set for init containers without restartPolicy=Always"
	errs := slices.Concat(
		rules.When(container.Lifecycle != nil, field.Forbidden(path.Child("lifecycle"), message)),
		rules.When(container.LivenessProbe != nil, field.Forbidden(path.Child("livenessProbe"), message)),
		rules.When(container.ReadinessProbe != nil, field.Forbidden(path.Child("readinessProbe"), message)),
		rules.When(container.StartupProbe != nil, field.Forbidden(path.Child("startupProbe"), message)),
	)
	for n, policy := range container.ResizePolicy {
		errs = append(errs, rules.When(policy.RestartPolicy == corev1.RestartContainer,
			field.Invalid(path.Child("resizePolicy").Index(n).Child("restartPolicy"), policy.RestartPolicy,
				"must not be set to 'RestartContainer' for non-sidecar initContainers"))...)
	}
	return errs
}

// checkContainer checks what containers of all three lists have.
func (c *checker) checkContainer(container *corev1.Container, path *field.Path) field.ErrorList {
	return slices.Concat(
		rules.RequiredLabel(container.Name, path.Child("name")),
		rules.Required(container.Image, path.Child("image")),
		rules.OneOf(container.TerminationMessagePolicy, path.Child("terminationMessagePolicy"),
			corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError),
		checkPorts(container.Ports, path.Child("ports")),
		rules.Each(container.Env, path.Child("env"), checkVariable),
		checkEnvFrom(container.EnvFrom, path.Child("envFrom")),
		c.checkMounts(container, path.Child("volumeMounts")),
		c.checkDevices(container, path.Child("volumeDevices")),
		checkPullPolicy(container.ImagePullPolicy, path.Child("imagePullPolicy")),
		checkRequirements(&container.Resources, checkContainerResourceName, path.Child("resources")),
		c.checkResizePolicy(container.ResizePolicy, path.Child("resizePolicy")),
		c.checkSecurity(container.SecurityContext, path.Child("securityContext")),
	)
}

func checkPullPolicy(policy corev1.PullPolicy, path *field.Path) field.ErrorList {
	return rules.OneOf(policy, path, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
}

func checkPorts(ports []corev1.ContainerPort, path *field.Path) (errs field.ErrorList) {
	names := sets.New[string]()
	for n := range ports {
		port, item := &ports[n], path.Index(n)
		if messages := validation.IsValidPortName(port.Name); port.Name != "" && len(messages) > 0 {
			errs = append(errs, rules.Messages(item.Child("name"), port.Name, messages)...)
		} else if port.Name != "" {
			errs = append(errs, checkNew(names, port.Name, item.Child("name"))...)
		}
		if number := item.Child("containerPort"); port.ContainerPort == 0 {
			errs = append(errs, field.Required(number, ""))
		} else {
			errs = append(errs, checkPortNumber(port.ContainerPort, number)...)
		}
		if port.HostPort != 0 {
			errs = append(errs, checkPortNumber(port.HostPort, item.Child("hostPort"))...)
		}
		errs = append(errs, rules.OneOf(port.Protocol, item.Child("protocol"),
			corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)...)
	}
	return errs
}

func checkPortNumber(number int32, path *field.Path) field.ErrorList {
	return rules.Messages(path, number, validation.IsValidPortNum(int(number)))
}

// checkPortConflicts checks that no two containers use the same port of the host.
func checkPortConflicts(containers []corev1.Container, path *field.Path) (errs field.ErrorList) {
	used := sets.New[string]()
	for n := range containers {
		for m, port := range containers[n].Ports {
			if port.HostPort != 0 {
				errs = append(errs, checkNew(used, fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort),
					path.Index(n).Child("ports").Index(m).Child("hostPort"))...)
			}
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
			differs := (c.pod != nil || port.HostPort != 0) && port.HostPort != port.ContainerPort
			errs = append(errs, rules.When(differs, field.Invalid(path.Index(n).Child("ports").Index(m).Child("hostPort"),
				port.HostPort, "must match `containerPort` when `hostNetwork` is true"))...)
		}
	}
	return errs
}

func checkRestartPolicy(container *corev1.Container, path *field.Path) field.ErrorList {
	path = path.Child("restartPolicy")
	if container.RestartPolicy == nil {
		return rules.When(len(container.RestartPolicyRules) > 0,
			field.Required(path, "must specify restartPolicy when restart rules are used"))
	}
	return rules.Known(*container.RestartPolicy, path, corev1.ContainerRestartPolicyAlways,
		corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure)
}

func checkRestartRules(container *corev1.Container, path *field.Path) field.ErrorList {
	const maxRules = 20
	count := len(container.RestartPolicyRules)
	return append(rules.When(count > maxRules, field.TooMany(path, count, maxRules)),
		rules.Each(container.RestartPolicyRules, path, checkRestartRule)...)
}

func checkRestartRule(rule *corev1.ContainerRestartRule, path *field.Path) field.ErrorList {
	errs := rules.Known(rule.Action, path.Child("action"),
		corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers)
	codes, path := rule.ExitCodes, path.Child("exitCodes")
	if codes == nil {
		return append(errs, field.Required(path, "must be specified"))
	}
	const maxCodes = 255
	return slices.Concat(errs,
		rules.Known(codes.Operator, path.Child("operator"),
			corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn),
		rules.When(len(codes.Values) > maxCodes, field.TooMany(path.Child("values"), len(codes.Values), maxCodes)),
	)
}

func (c *checker) checkResizePolicy(policies []corev1.ContainerResizePolicy, path *field.Path) (errs field.ErrorList) {
	seen := sets.New[string]()
	for n, policy := range policies {
		errs = append(errs, slices.Concat(
			checkNew(seen, string(policy.ResourceName), path.Index(n)),
			rules.OneOf(policy.ResourceName, path, corev1.ResourceCPU, corev1.ResourceMemory),
			rules.OneOf(policy.RestartPolicy, path, corev1.NotRequired, corev1.RestartContainer),
			rules.When(c.spec.RestartPolicy == corev1.RestartPolicyNever && policy.RestartPolicy != corev1.NotRequired,
				field.Invalid(path, policy.RestartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")),
		)...)
	}
	return errs
}

func checkImageSpaces(container *corev1.Container, path *field.Path) field.ErrorList {
	return CheckImageSpaces(container.Image, path.Child("image"))
}

// CheckImageSpaces checks that an image of a pod has no space around it. Images of templates are not checked for this,
// as in kube-apiserver.
func CheckImageSpaces(image string, path *field.Path) field.ErrorList {
	return rules.When(strings.TrimSpace(image) != image,
		field.Invalid(path, image, "must not have leading or trailing whitespace"))
}
