package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/builtin/rules"
)

var statusPath = field.NewPath("status")

var statusStrategy = resource.Typed[*corev1.Pod]{
	Name: apivalidation.NameIsDNSSubdomain, PrepareUpdate: prepareStatus, CheckUpdate: checkStatus,
}

// prepareStatus keeps what a status cannot change, and what old kubelets leave out.
func prepareStatus(pod, old *corev1.Pod) {
	pod.Spec = old.Spec
	pod.DeletionTimestamp = nil // the handler restores it
	pod.OwnerReferences = old.OwnerReferences
	now, before := &pod.Status, &old.Status
	resource.DefaultValue(&now.QOSClass, before.QOSClass)
	resource.DefaultValue(&now.ExtendedResourceClaimStatus, before.ExtendedResourceClaimStatus)
	resource.DefaultValue(&now.ObservedGeneration, before.ObservedGeneration)
	if now.ResourceClaimStatuses == nil {
		now.ResourceClaimStatuses = before.ResourceClaimStatuses
	}
	generations := map[corev1.PodConditionType][]int64{}
	for _, condition := range before.Conditions {
		generations[condition.Type] = append(generations[condition.Type], condition.ObservedGeneration)
	}
	for n := range now.Conditions {
		condition := &now.Conditions[n]
		if known := generations[condition.Type]; len(known) > 0 {
			generations[condition.Type] = known[1:]
			resource.DefaultValue(&condition.ObservedGeneration, known[0])
		}
	}
}

func checkStatus(pod, old *corev1.Pod) field.ErrorList {
	now, before := &pod.Status, &old.Status
	return slices.Concat(
		checkMirror(pod, old),
		rules.Each(now.Conditions, statusPath.Child("conditions"), checkCondition),
		checkNominated(pod, old),
		checkGeneration(now.ObservedGeneration, statusPath),
		apivalidation.ValidateImmutableField(now.QOSClass, before.QOSClass, statusPath.Child("qosClass")),
		checkTransitions(&old.Spec, old.Spec.Containers, now.ContainerStatuses, before.ContainerStatuses,
			statusPath.Child("containerStatuses")),
		checkTransitions(&old.Spec, old.Spec.InitContainers, now.InitContainerStatuses, before.InitContainerStatuses,
			statusPath.Child("initContainerStatuses")),
		checkAddresses(now, before),
	)
}

func checkGeneration(generation int64, path *field.Path) field.ErrorList {
	return rules.Invalid(generation < 0, path.Child("observedGeneration"), generation, "must be a non-negative integer")
}

func checkCondition(condition *corev1.PodCondition, path *field.Path) field.ErrorList {
	return append(checkGeneration(condition.ObservedGeneration, path),
		rules.QualifiedName(condition.Type, path.Child("Type"))...)
}

// checkNominated checks the node that a scheduler would like to use.
func checkNominated(pod, old *corev1.Pod) field.ErrorList {
	name, path := pod.Status.NominatedNodeName, statusPath.Child("nominatedNodeName")
	if name == old.Status.NominatedNodeName {
		return nil
	}
	return append(rules.Name(name, path, apivalidation.NameIsDNSSubdomain),
		rules.Forbidden(name != "" && old.Spec.NodeName != "", path,
			"may not be set on pods that are already bound to a node")...)
}

// checkTransitions checks that a container that has ended for good does not run again.
func checkTransitions(
	spec *corev1.PodSpec, containers []corev1.Container, now, old []corev1.ContainerStatus, path *field.Path,
) (errs field.ErrorList) {
	for n, before := range old {
		ended := before.State.Terminated
		if ended == nil || mayRestart(spec, containers, before.Name, ended.ExitCode) {
			continue
		}
		runs := slices.ContainsFunc(now, func(status corev1.ContainerStatus) bool {
			return status.Name == before.Name && status.State.Terminated == nil
		})
		errs = append(errs, rules.Forbidden(runs, path.Index(n).Child("state"),
			"may not be transitioned to non-terminated state")...)
	}
	return errs
}

// mayRestart reports whether a container that has ended with an exit code may be started again.
func mayRestart(spec *corev1.PodSpec, containers []corev1.Container, name string, code int32) bool {
	policy := string(spec.RestartPolicy)
	for n := range containers {
		c := &containers[n]
		if c.Name != name {
			continue
		}
		if len(c.RestartPolicyRules) > 0 {
			return true // the rules decide; they are not evaluated here
		}
		if c.RestartPolicy != nil {
			policy = string(*c.RestartPolicy)
		}
	}
	return policy == string(corev1.RestartPolicyAlways) || policy == string(corev1.RestartPolicyOnFailure) && code != 0
}

func checkAddresses(now, old *corev1.PodStatus) (errs field.ErrorList) {
	podIP := func(ip corev1.PodIP) string { return ip.IP }
	hostIP := func(ip corev1.HostIP) string { return ip.IP }
	path := statusPath.Child("hostIPs")
	if len(now.HostIPs) > 0 {
		errs = rules.Invalid(now.HostIP != now.HostIPs[0].IP, path.Index(0).Child("ip"), now.HostIPs[0].IP,
			"must be equal to `hostIP`")
	}
	return slices.Concat(checkIPs(now.PodIPs, old.PodIPs, podIP, statusPath.Child("podIPs")), errs,
		checkIPs(now.HostIPs, old.HostIPs, hostIP, path))
}

// checkIPs checks addresses: one, or one of each family. Those that were stored before may be invalid.
func checkIPs[T any](now, old []T, address func(T) string, path *field.Path) (errs field.ErrorList) {
	ips, before := texts(now, address), texts(old, address)
	for n, ip := range ips {
		errs = append(errs, validation.IsValidIPForLegacyField(path.Index(n), ip, false, before)...)
	}
	dual, _ := netutils.IsDualStackIPStrings(ips) // an invalid address is an error already
	return append(errs, rules.Invalid(len(ips) > 2 || len(ips) == 2 && !dual, path, now,
		"may specify no more than one IP for each IP family")...)
}

func texts[T any](items []T, text func(T) string) (all []string) {
	for _, item := range items {
		all = append(all, text(item))
	}
	return all
}
