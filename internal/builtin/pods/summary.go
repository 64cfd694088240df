package pods

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// summary is a pod, and what the columns say about its containers.
type summary struct {
	Pod               *corev1.Pod `json:"pod"`
	ready, containers int
	// restarts counts those of containers that may run now, and restarted is when the last of them ended.
	restarts  int
	restarted metav1.Time
	reason    string
	// sidecarRestarts and sidecarRestarted are those of init containers that are restarted.
	sidecarRestarts  int
	sidecarRestarted metav1.Time
}

func summarize(obj runtime.Object) *summary {
	pod := obj.(*corev1.Pod)
	s := &summary{Pod: pod, containers: len(pod.Spec.Containers), reason: string(pod.Status.Phase)}
	if pod.Status.Reason != "" {
		s.reason = pod.Status.Reason
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonSchedulingGated {
			s.reason = condition.Reason
		}
	}
	if !s.addInit(pod) || firstIsTrue(&pod.Status, corev1.PodInitialized) {
		s.restarts, s.restarted = s.sidecarRestarts, s.sidecarRestarted
		s.addContainers(pod)
	}
	terminal := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	switch {
	case pod.DeletionTimestamp == nil:
	case pod.Status.Reason == "NodeLost":
		s.reason = "Unknown"
	case !terminal:
		s.reason = "Terminating"
	}
	return s
}

// addInit adds the init containers, up to the first that has not ended. It reports whether there is one.
func (s *summary) addInit(pod *corev1.Pod) bool {
	sidecars := map[string]bool{}
	for n := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[n]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars[c.Name] = true
			s.containers++
		}
	}
	for n := range pod.Status.InitContainerStatuses {
		status := &pod.Status.InitContainerStatuses[n]
		countRestarts(status, &s.restarts, &s.restarted)
		sidecar := sidecars[status.Name]
		if sidecar {
			countRestarts(status, &s.sidecarRestarts, &s.sidecarRestarted)
		}
		ended := status.State.Terminated
		switch {
		case ended != nil && ended.ExitCode == 0:
			continue
		case sidecar && status.Started != nil && *status.Started:
			if status.Ready {
				s.ready++
			}
			continue
		case ended != nil:
			s.reason = "Init:" + endReason(ended)
		case status.State.Waiting != nil && status.State.Waiting.Reason != "" &&
			status.State.Waiting.Reason != "PodInitializing":
			s.reason = "Init:" + status.State.Waiting.Reason
		default:
			s.reason = fmt.Sprintf("Init:%d/%d", n, len(pod.Spec.InitContainers))
		}
		return true
	}
	return false
}

// addContainers adds the containers, the last one first, so that the reason of the first one wins.
func (s *summary) addContainers(pod *corev1.Pod) {
	running, failure := false, ""
	for n := len(pod.Status.ContainerStatuses) - 1; n >= 0; n-- {
		status := &pod.Status.ContainerStatuses[n]
		countRestarts(status, &s.restarts, &s.restarted)
		switch ended := status.State.Terminated; {
		case status.State.Waiting != nil && status.State.Waiting.Reason != "":
			s.reason = status.State.Waiting.Reason
		case ended != nil:
			s.reason = endReason(ended)
			if ended.ExitCode != 0 {
				failure = s.reason
			}
		case status.Ready && status.State.Running != nil:
			running = true
			s.ready++
		}
	}
	switch {
	case s.reason != "Completed":
	case running && IsTrue(&pod.Status, corev1.PodReady):
		s.reason = "Running"
	case failure != "":
		s.reason = failure
	case running:
		s.reason = "NotReady"
	}
}

// IsTrue reports whether any condition of a type is true.
func IsTrue(status *corev1.PodStatus, condition corev1.PodConditionType) bool {
	for n := range status.Conditions {
		if status.Conditions[n].Type == condition && status.Conditions[n].Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

func countRestarts(status *corev1.ContainerStatus, count *int, last *metav1.Time) {
	*count += int(status.RestartCount)
	if ended := status.LastTerminationState.Terminated; ended != nil && last.Before(&ended.FinishedAt) {
		*last = ended.FinishedAt
	}
}

func endReason(ended *corev1.ContainerStateTerminated) string {
	switch {
	case ended.Reason != "":
		return ended.Reason
	case ended.Signal != 0:
		return fmt.Sprintf("Signal:%d", ended.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", ended.ExitCode)
}
