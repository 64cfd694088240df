package pods

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var statusPath = field.NewPath("status")

var statusStrategy = resource.Typed[*corev1.Pod]{PrepareUpdate: prepareStatus, CheckUpdate: checkStatus}

// prepareStatus keeps what a status cannot change, and what old kubelets leave out.
func prepareStatus(pod, old *corev1.Pod) {
	pod.Spec = old.Spec
	pod.DeletionTimestamp = nil // the handler restores it
	pod.OwnerReferences = old.OwnerReferences
	now, before := &pod.Status, &old.Status
	if now.QOSClass == "" {
		now.QOSClass = before.QOSClass
	}
	if now.ResourceClaimStatuses == nil {
		now.ResourceClaimStatuses = before.ResourceClaimStatuses
	}
	if now.ExtendedResourceClaimStatus == nil {
		now.ExtendedResourceClaimStatus = before.ExtendedResourceClaimStatus
	}
	if now.ObservedGeneration == 0 {
		now.ObservedGeneration = before.ObservedGeneration
	}
	generations := map[corev1.PodConditionType][]int64{}
	for _, condition := range before.Conditions {
		generations[condition.Type] = append(generations[condition.Type], condition.ObservedGeneration)
	}
	for n := range now.Conditions {
		condition := &now.Conditions[n]
		known := generations[condition.Type]
		if len(known) == 0 {
			continue
		}
		generations[condition.Type] = known[1:]
		if condition.ObservedGeneration == 0 {
			condition.ObservedGeneration = known[0]
		}
	}
}

func checkStatus(pod, old *corev1.Pod) field.ErrorList {
	errs := resource.CheckMetadataUpdate(&pod.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, checkMirror(pod, old)...)
	errs = append(errs, checkConditions(pod.Status.Conditions, statusPath.Child("conditions"))...)
	errs = append(errs, checkNominated(pod, old)...)
	if pod.Status.ObservedGeneration < 0 {
		errs = append(errs, field.Invalid(statusPath.Child("observedGeneration"), pod.Status.ObservedGeneration,
			"must be a non-negative integer"))
	}
	errs = append(errs, apivalidation.ValidateImmutableField(
		pod.Status.QOSClass, old.Status.QOSClass, statusPath.Child("qosClass"))...)
	errs = append(errs, checkTransitions(&old.Spec, old.Spec.Containers,
		pod.Status.ContainerStatuses, old.Status.ContainerStatuses, statusPath.Child("containerStatuses"))...)
	errs = append(errs, checkTransitions(&old.Spec, old.Spec.InitContainers,
		pod.Status.InitContainerStatuses, old.Status.InitContainerStatuses, statusPath.Child("initContainerStatuses"))...)
	return append(errs, checkAddresses(&pod.Status, &old.Status)...)
}

func checkConditions(conditions []corev1.PodCondition, path *field.Path) (errs field.ErrorList) {
	for n, condition := range conditions {
		if condition.ObservedGeneration < 0 {
			errs = append(errs, field.Invalid(path.Index(n).Child("observedGeneration"), condition.ObservedGeneration,
				"must be a non-negative integer"))
		}
		switch condition.Type {
		case corev1.PodScheduled, corev1.PodReady, corev1.PodInitialized:
			continue
		}
		for _, message := range validation.IsQualifiedName(string(condition.Type)) {
			errs = append(errs, field.Invalid(path.Index(n).Child("Type"), string(condition.Type), message))
		}
	}
	return errs
}

// checkNominated checks the node that a scheduler would like to use.
func checkNominated(pod, old *corev1.Pod) (errs field.ErrorList) {
	name, path := pod.Status.NominatedNodeName, statusPath.Child("nominatedNodeName")
	if name == "" || name == old.Status.NominatedNodeName {
		return nil
	}
	for _, message := range apivalidation.NameIsDNSSubdomain(name, false) {
		errs = append(errs, field.Invalid(path, name, message))
	}
	if old.Spec.NodeName != "" {
		errs = append(errs, field.Forbidden(path, "may not be set on pods that are already bound to a node"))
	}
	return errs
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
		for _, status := range now {
			if status.Name == before.Name && status.State.Terminated == nil {
				errs = append(errs,
					field.Forbidden(path.Index(n).Child("state"), "may not be transitioned to non-terminated state"))
				break
			}
		}
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
	ips, before := make([]string, len(now.PodIPs)), make([]string, len(old.PodIPs))
	for n := range now.PodIPs {
		ips[n] = now.PodIPs[n].IP
	}
	for n := range old.PodIPs {
		before[n] = old.PodIPs[n].IP
	}
	errs = append(errs, checkIPs(ips, before, statusPath.Child("podIPs"), now.PodIPs)...)
	hosts, hostsBefore := make([]string, len(now.HostIPs)), make([]string, len(old.HostIPs))
	for n := range now.HostIPs {
		hosts[n] = now.HostIPs[n].IP
	}
	for n := range old.HostIPs {
		hostsBefore[n] = old.HostIPs[n].IP
	}
	if path := statusPath.Child("hostIPs"); len(hosts) > 0 {
		if now.HostIP != hosts[0] {
			errs = append(errs, field.Invalid(path.Index(0).Child("ip"), hosts[0], "must be equal to `hostIP`"))
		}
		errs = append(errs, checkIPs(hosts, hostsBefore, path, now.HostIPs)...)
	}
	return errs
}

// checkIPs checks addresses: one, or one of each family. Those that were stored before may be invalid.
func checkIPs(ips, before []string, path *field.Path, value any) (errs field.ErrorList) {
	for n, ip := range ips {
		errs = append(errs, validation.IsValidIPForLegacyField(path.Index(n), ip, false, before)...)
	}
	if len(ips) < 2 {
		return errs
	}
	dual, err := netutils.IsDualStackIPStrings(ips)
	if err != nil {
		errs = append(errs, field.InternalError(path, fmt.Errorf("failed to check for dual stack with error:%w", err)))
	}
	if !dual || len(ips) > 2 {
		errs = append(errs, field.Invalid(path, value, "may specify no more than one IP for each IP family"))
	}
	return errs
}
