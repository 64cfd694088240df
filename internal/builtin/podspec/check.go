package podspec

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

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
		rules.Each(spec.Containers, path.Child("containers"), CheckImageSpaces),
		rules.Each(spec.InitContainers, path.Child("initContainers"), CheckImageSpaces),
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
		rules.Forbidden(len(template.Spec.EphemeralContainers) > 0, path.Child("spec", "ephemeralContainers"),
			"ephemeral containers not allowed in pod template"),
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
		rules.Optional(spec.Resources, path.Child("resources"), c.checkPodResources),
		c.checkHostPorts(path.Child("containers")),
		rules.OneOf(spec.RestartPolicy, path.Child("restartPolicy"),
			corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever),
		rules.OneOf(spec.DNSPolicy, path.Child("dnsPolicy"),
			corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone),
		metav1validation.ValidateLabels(spec.NodeSelector, path.Child("nodeSelector")),
		checkPodSecurity(spec, path.Child("securityContext")),
		rules.Invalid(ptr.Deref(spec.ShareProcessNamespace, false) && spec.HostPID, path.Child("shareProcessNamespace"), true,
			"ShareProcessNamespace and HostPID cannot both be enabled"),
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
		rules.Invalid(deadline < 1 || deadline > math.MaxInt32, path.Child("activeDeadlineSeconds"), deadline,
			validation.InclusiveRangeError(1, math.MaxInt32)),
		rules.Name(spec.Hostname, path.Child("hostname"), apivalidation.NameIsDNSLabel),
		rules.Name(spec.Subdomain, path.Child("subdomain"), apivalidation.NameIsDNSLabel),
	)
}

// checkRest checks what is left, as kube-apiserver does last.
func checkRest(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	overhead := &corev1.ResourceRequirements{Limits: spec.Overhead}
	return slices.Concat(
		rules.Each(spec.HostAliases, path.Child("hostAliases"), checkHostAlias),
		rules.Name(spec.PriorityClassName, path.Child("priorityClassName"), apivalidation.NameIsDNSSubdomain),
		rules.Optional(spec.RuntimeClassName, path.Child("runtimeClassName"), rules.Subdomain),
		rules.OneOf(ptr.Deref(spec.PreemptionPolicy, corev1.PreemptNever), path.Child("preemptionPolicy"),
			corev1.PreemptLowerPriority, corev1.PreemptNever),
		checkRequirements(overhead, checkContainerResourceName, path.Child("overhead")),
		rules.OneOf(ptr.Deref(spec.OS, corev1.PodOS{Name: corev1.Linux}).Name, path.Child("os"),
			corev1.Linux, corev1.Windows),
	)
}

func checkHostAlias(alias *corev1.HostAlias, path *field.Path) field.ErrorList {
	return append(rules.IP(alias.IP, path.Child("ip")),
		rules.Every(alias.Hostnames, path.Child("hostnames"), rules.Subdomain)...)
}

// checkHostUsers checks that a pod with users of its own does not share more with the host.
func (c *checker) checkHostUsers(path *field.Path) field.ErrorList {
	if ptr.Deref(c.spec.HostUsers, true) {
		return nil
	}
	return rules.Unset(c.spec, path, "when `hostUsers` is false", "hostNetwork", "HostPID", "HostIPC")
}

// checkAnnotations checks the annotations that mean something to Kubernetes.
func checkAnnotations(annotations map[string]string, spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	mirrored, mirrors := annotations[corev1.MirrorPodAnnotationKey]
	cost, hasCost := annotations[corev1.PodDeletionCost]
	number, err := strconv.ParseInt(cost, 10, 32)
	return slices.Concat(
		rules.Invalid(mirrors && spec.NodeName == "", path.Key(corev1.MirrorPodAnnotationKey), mirrored,
			"must set spec.nodeName if mirror pod annotation is set"),
		rules.Invalid(hasCost && (err != nil || strconv.FormatInt(number, 10) != cost), path.Key(corev1.PodDeletionCost),
			cost, "must be a 32bit integer"),
	)
}

// The limits of the configuration of a resolver.
const (
	maxNameservers = 3
	maxSearches    = 32
	maxSearchText  = 2048
)

func checkDNS(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	config, servers, searches := spec.DNSConfig, path.Child("nameservers"), path.Child("searches")
	switch {
	case config == nil:
		return rules.Missing(spec.DNSPolicy == corev1.DNSNone, path, "must provide `dnsConfig` when `dnsPolicy` is None")
	case len(config.Nameservers) == 0 && spec.DNSPolicy == corev1.DNSNone:
		return field.ErrorList{field.Required(servers, "must provide at least one DNS nameserver when `dnsPolicy` is None")}
	}
	return slices.Concat(
		rules.Invalid(len(config.Nameservers) > maxNameservers, servers, config.Nameservers,
			fmt.Sprintf("must not have more than %v nameservers", maxNameservers)),
		rules.Every(config.Nameservers, servers, rules.IP),
		rules.Invalid(len(config.Searches) > maxSearches, searches, config.Searches,
			fmt.Sprintf("must not have more than %v search paths", maxSearches)),
		rules.Invalid(len(strings.Join(config.Searches, " ")) > maxSearchText, searches, config.Searches,
			fmt.Sprintf("must not have more than %v characters (including spaces) in the search list", maxSearchText)),
		rules.Every(config.Searches, searches, checkSearch),
		rules.Each(config.Options, path.Child("options"),
			func(option *corev1.PodDNSConfigOption, path *field.Path) field.ErrorList {
				return rules.Missing(option.Name == "", path, "must not be empty")
			}),
	)
}

func checkSearch(domain string, path *field.Path) field.ErrorList {
	if domain == "." {
		return nil
	}
	domain = strings.TrimSuffix(domain, ".")
	return rules.Messages(path, domain, validation.IsDNS1123SubdomainWithUnderscore(domain))
}

// checkDescending checks a path below a folder.
func checkDescending(text string, path *field.Path) field.ErrorList {
	return append(rules.Invalid(strings.HasPrefix(text, "/"), path, text, "must be a relative path"),
		CheckNoBacksteps(text, path)...)
}

func hasBacksteps(text string) bool { return slices.Contains(strings.Split(text, "/"), "..") }

// CheckNoBacksteps checks that a path does not go up.
func CheckNoBacksteps(text string, path *field.Path) field.ErrorList {
	return rules.Invalid(hasBacksteps(text), path, text, "must not contain '..'")
}

// checkFilePath checks the path of a file in a volume. Names that begin with two dots belong to the kubelet.
func checkFilePath(text string, path *field.Path) field.ErrorList {
	return append(checkDescending(text, path), rules.Invalid(
		strings.HasPrefix(text, "..") && !strings.HasPrefix(text, "../"), path, text, "must not start with '..'")...)
}

// checkFileMode checks the mode of a file, unless it is left out.
func checkFileMode(mode *int32, path *field.Path) field.ErrorList {
	return rules.Invalid(mode != nil && (*mode < 0 || *mode > 0o777), path, mode,
		"must be a number between 0 and 0777 (octal), both inclusive")
}
