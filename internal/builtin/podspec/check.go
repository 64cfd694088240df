package podspec

import (
	"math"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// CheckName checks the name of a pod, or of an object with the template of one.
var CheckName = apivalidation.NameIsDNSSubdomain

// checker checks one specification.
type checker struct {
	spec *corev1.PodSpec
	// pod has the specification, unless it is the one of a template.
	pod *corev1.Pod
	// volumes has the valid volumes by their names.
	volumes map[string]*corev1.VolumeSource
}

// CheckPod returns the errors of a pod, without those of its metadata.
func CheckPod(pod *corev1.Pod) field.ErrorList {
	spec, path := &pod.Spec, field.NewPath("spec")
	c := &checker{spec: spec, pod: pod}
	return slices.Concat(
		checkAnnotations(pod.Annotations, spec, field.NewPath("metadata", "annotations")),
		c.check(path),
		c.checkNoTokens(path.Child("volumes")),
		rules.NonNegative(ptr.Deref(spec.TerminationGracePeriodSeconds, 0), path.Child("terminationGracePeriodSeconds")),
		rules.Each(spec.Containers, path.Child("containers"), checkImageSpaces),
		rules.Each(spec.InitContainers, path.Child("initContainers"), checkImageSpaces),
	)
}

// CheckTemplate returns the errors of the template of a workload.
func CheckTemplate(template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	c := &checker{spec: &template.Spec}
	return slices.Concat(
		metav1validation.ValidateLabels(template.Labels, path.Child("labels")),
		apivalidation.ValidateAnnotations(template.Annotations, path.Child("annotations")),
		checkAnnotations(template.Annotations, &template.Spec, path.Child("annotations")),
		c.check(path.Child("spec")),
		rules.When(len(template.Spec.EphemeralContainers) > 0, field.Forbidden(path.Child("spec", "ephemeralContainers"),
			"ephemeral containers not allowed in pod template")),
	)
}

// check returns the errors in kube-apiserver's order.
func (c *checker) check(path *field.Path) field.ErrorList {
	spec := c.spec
	return slices.Concat(
		c.checkVolumes(path.Child("volumes")),
		c.checkContainers(path.Child("containers")),
		c.checkInitContainers(path.Child("initContainers")),
		c.checkEphemeralContainers(path.Child("ephemeralContainers")),
		c.checkPodResources(path.Child("resources")),
		c.checkHostPorts(path.Child("containers")),
		rules.OneOf(spec.RestartPolicy, path.Child("restartPolicy"),
			corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever),
		rules.OneOf(spec.DNSPolicy, path.Child("dnsPolicy"),
			corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone),
		metav1validation.ValidateLabels(spec.NodeSelector, path.Child("nodeSelector")),
		checkPodSecurity(spec, path.Child("securityContext")),
		rules.When(ptr.Deref(spec.ShareProcessNamespace, false) && spec.HostPID, field.Invalid(
			path.Child("shareProcessNamespace"), true, "ShareProcessNamespace and HostPID cannot both be enabled")),
		checkAffinity(spec.Affinity, path.Child("affinity")),
		checkDNS(spec, path.Child("dnsConfig")),
		checkGates(spec, path),
		checkSpread(spec.TopologySpreadConstraints, path.Child("topologySpreadConstraints")),
		c.checkHostUsers(path),
		checkNames(spec, path),
		rules.Each(spec.Tolerations, path.Child("tolerations"), checkToleration),
		checkRest(spec, path),
	)
}

// checkNames checks the names of other objects and of hosts.
func checkNames(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	deadline := ptr.Deref(spec.ActiveDeadlineSeconds, 1)
	return slices.Concat(
		rules.Name(spec.ServiceAccountName, path.Child("serviceAccountName"), apivalidation.ValidateServiceAccountName),
		rules.Name(spec.NodeName, path.Child("nodeName"), apivalidation.NameIsDNSSubdomain),
		rules.When(deadline < 1 || deadline > math.MaxInt32, field.Invalid(path.Child("activeDeadlineSeconds"), deadline,
			validation.InclusiveRangeError(1, math.MaxInt32))),
		rules.Name(spec.Hostname, path.Child("hostname"), apivalidation.NameIsDNSLabel),
		rules.Name(spec.Subdomain, path.Child("subdomain"), apivalidation.NameIsDNSLabel),
	)
}

// checkRest checks what is left, as kube-apiserver does last.
func checkRest(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	errs := slices.Concat(
		rules.Each(spec.HostAliases, path.Child("hostAliases"), checkHostAlias),
		rules.Name(spec.PriorityClassName, path.Child("priorityClassName"), apivalidation.NameIsDNSSubdomain),
	)
	if spec.RuntimeClassName != nil {
		errs = append(errs, rules.Subdomain(*spec.RuntimeClassName, path.Child("runtimeClassName"))...)
	}
	if spec.PreemptionPolicy != nil {
		errs = append(errs, rules.OneOf(*spec.PreemptionPolicy, path.Child("preemptionPolicy"),
			corev1.PreemptLowerPriority, corev1.PreemptNever)...)
	}
	overhead := &corev1.ResourceRequirements{Limits: spec.Overhead}
	errs = append(errs, checkRequirements(overhead, checkContainerResourceName, path.Child("overhead"))...)
	if spec.OS != nil {
		errs = append(errs, rules.OneOf(spec.OS.Name, path.Child("os"), corev1.Linux, corev1.Windows)...)
	}
	return errs
}

func checkHostAlias(alias *corev1.HostAlias, path *field.Path) field.ErrorList {
	errs := validation.IsValidIPForLegacyField(path.Child("ip"), alias.IP, false, nil)
	for n, host := range alias.Hostnames {
		errs = append(errs, rules.Subdomain(host, path.Child("hostnames").Index(n))...)
	}
	return errs
}

// checkHostUsers checks that a pod with users of its own does not share more with the host.
func (c *checker) checkHostUsers(path *field.Path) field.ErrorList {
	if ptr.Deref(c.spec.HostUsers, true) {
		return nil
	}
	const message = "when `hostUsers` is false"
	return slices.Concat(
		rules.When(c.spec.HostNetwork, field.Forbidden(path.Child("hostNetwork"), message)),
		rules.When(c.spec.HostPID, field.Forbidden(path.Child("HostPID"), message)),
		rules.When(c.spec.HostIPC, field.Forbidden(path.Child("HostIPC"), message)),
	)
}

// checkAnnotations checks the annotations that mean something to Kubernetes.
func checkAnnotations(annotations map[string]string, spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	mirrored, mirrors := annotations[corev1.MirrorPodAnnotationKey]
	cost, hasCost := annotations[corev1.PodDeletionCost]
	number, err := strconv.ParseInt(cost, 10, 32)
	return slices.Concat(
		rules.When(mirrors && spec.NodeName == "", field.Invalid(path.Key(corev1.MirrorPodAnnotationKey), mirrored,
			"must set spec.nodeName if mirror pod annotation is set")),
		rules.When(hasCost && (err != nil || strconv.FormatInt(number, 10) != cost),
			field.Invalid(path.Key(corev1.PodDeletionCost), cost, "must be a 32bit integer")),
	)
}
