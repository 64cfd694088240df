package podspec

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// CheckName checks the name of a pod, or of an object with the template of one.
var CheckName = apivalidation.NameIsDNSSubdomain

// checker checks one specification.
type checker struct {
	spec *corev1.PodSpec
	// pod says that the specification is that of a pod, not of a template.
	pod bool
	// volumes has the valid volumes by their names.
	volumes map[string]*corev1.VolumeSource
}

// CheckPod returns the errors of a pod, without those of its metadata.
func CheckPod(pod *corev1.Pod) field.ErrorList {
	metadata, path := field.NewPath("metadata"), field.NewPath("spec")
	c := &checker{spec: &pod.Spec, pod: true}
	errs := checkAnnotations(pod.Annotations, &pod.Spec, metadata.Child("annotations"))
	errs = append(errs, c.check(path)...)
	if pod.Spec.ServiceAccountName == "" {
		errs = append(errs, c.checkNoTokens(path.Child("volumes"))...)
	}
	errs = append(errs, apivalidation.ValidateNonnegativeField(
		ptr.Deref(pod.Spec.TerminationGracePeriodSeconds, 0), path.Child("terminationGracePeriodSeconds"))...)
	errs = append(errs, checkImageSpaces(pod.Spec.Containers, path.Child("containers"))...)
	return append(errs, checkImageSpaces(pod.Spec.InitContainers, path.Child("initContainers"))...)
}

// CheckTemplate returns the errors of the template of a workload.
func CheckTemplate(template *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	errs := metav1validation.ValidateLabels(template.Labels, path.Child("labels"))
	errs = append(errs, apivalidation.ValidateAnnotations(template.Annotations, path.Child("annotations"))...)
	errs = append(errs, checkAnnotations(template.Annotations, &template.Spec, path.Child("annotations"))...)
	c := &checker{spec: &template.Spec}
	errs = append(errs, c.check(path.Child("spec"))...)
	if len(template.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(path.Child("spec", "ephemeralContainers"),
			"ephemeral containers not allowed in pod template"))
	}
	return errs
}

// check returns the errors in kube-apiserver's order.
func (c *checker) check(path *field.Path) field.ErrorList {
	spec := c.spec
	errs := c.checkVolumes(path.Child("volumes"))
	errs = append(errs, c.checkClaims(path.Child("resourceClaims"))...)
	errs = append(errs, c.checkContainers(path.Child("containers"))...)
	errs = append(errs, c.checkInitContainers(path.Child("initContainers"))...)
	errs = append(errs, c.checkEphemeralContainers(path.Child("ephemeralContainers"))...)
	errs = append(errs, c.checkPodResources(path.Child("resources"))...)
	errs = append(errs, c.checkHostPorts(path.Child("containers"))...)
	errs = append(errs, checkOneOf(spec.RestartPolicy, path.Child("restartPolicy"),
		corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)...)
	errs = append(errs, checkOneOf(spec.DNSPolicy, path.Child("dnsPolicy"),
		corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone)...)
	errs = append(errs, metav1validation.ValidateLabels(spec.NodeSelector, path.Child("nodeSelector"))...)
	errs = append(errs, checkPodSecurity(spec.SecurityContext, path.Child("securityContext"))...)
	if ptr.Deref(spec.ShareProcessNamespace, false) && spec.HostPID {
		errs = append(errs, field.Invalid(path.Child("shareProcessNamespace"), true,
			"ShareProcessNamespace and HostPID cannot both be enabled"))
	}
	errs = append(errs, checkAffinity(spec.Affinity, path.Child("affinity"))...)
	errs = append(errs, checkDNS(spec, path.Child("dnsConfig"))...)
	errs = append(errs, checkGates(spec, path)...)
	errs = append(errs, checkSpread(spec.TopologySpreadConstraints, path.Child("topologySpreadConstraints"))...)
	errs = append(errs, c.checkHostUsers(path)...)
	errs = append(errs, checkNames(spec, path)...)
	errs = append(errs, CheckTolerations(spec.Tolerations, path.Child("tolerations"))...)
	return append(errs, checkRest(spec, path)...)
}

// checkNames checks the names of other objects and of hosts.
func checkNames(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	errs := checkName(spec.ServiceAccountName, path.Child("serviceAccountName"), apivalidation.ValidateServiceAccountName)
	errs = append(errs, checkName(spec.NodeName, path.Child("nodeName"), apivalidation.NameIsDNSSubdomain)...)
	if seconds := spec.ActiveDeadlineSeconds; seconds != nil && (*seconds < 1 || *seconds > math.MaxInt32) {
		errs = append(errs, field.Invalid(path.Child("activeDeadlineSeconds"), *seconds,
			validation.InclusiveRangeError(1, math.MaxInt32)))
	}
	if spec.Hostname != "" {
		errs = append(errs, checkLabel(spec.Hostname, path.Child("hostname"))...)
	}
	if spec.Subdomain != "" {
		errs = append(errs, checkLabel(spec.Subdomain, path.Child("subdomain"))...)
	}
	return errs
}

// checkRest checks what is left, as kube-apiserver does last.
func checkRest(spec *corev1.PodSpec, path *field.Path) (errs field.ErrorList) {
	for n, alias := range spec.HostAliases {
		item := path.Child("hostAliases").Index(n)
		errs = append(errs, validation.IsValidIPForLegacyField(item.Child("ip"), alias.IP, false, nil)...)
		for m, host := range alias.Hostnames {
			errs = append(errs, checkSubdomain(host, item.Child("hostnames").Index(m))...)
		}
	}
	errs = append(errs,
		checkName(spec.PriorityClassName, path.Child("priorityClassName"), apivalidation.NameIsDNSSubdomain)...)
	if spec.RuntimeClassName != nil {
		errs = append(errs, checkSubdomain(*spec.RuntimeClassName, path.Child("runtimeClassName"))...)
	}
	if spec.PreemptionPolicy != nil {
		errs = append(errs, checkOneOf(*spec.PreemptionPolicy, path.Child("preemptionPolicy"),
			corev1.PreemptLowerPriority, corev1.PreemptNever)...)
	}
	for _, name := range sortedNames(spec.Overhead) {
		item := path.Child("overhead").Key(string(name))
		errs = append(errs, checkResourceName(name, item)...)
		errs = append(errs, CheckQuantity(name, spec.Overhead[name], item)...)
	}
	if spec.OS != nil {
		errs = append(errs, checkOneOf(spec.OS.Name, path.Child("os", "name"), corev1.Linux, corev1.Windows)...)
	}
	return errs
}

// checkNoTokens checks that no volume has a token of a service account that the pod does not name.
func (c *checker) checkNoTokens(path *field.Path) (errs field.ErrorList) {
	for n := range c.spec.Volumes {
		projected := c.spec.Volumes[n].Projected
		if projected == nil {
			continue
		}
		for m := range projected.Sources {
			if projected.Sources[m].ServiceAccountToken != nil {
				errs = append(errs,
					field.Forbidden(path.Index(n).Child("projected", "sources").Index(m).Child("serviceAccountToken"),
						"must not be specified when serviceAccountName is not set"))
			}
		}
	}
	return errs
}
