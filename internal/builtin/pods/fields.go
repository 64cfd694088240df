package pods

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

var podFields = &resource.Fields{
	Names: []string{
		"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
		"status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
	},
	Values: func(obj runtime.Object) map[string]string {
		pod := obj.(*corev1.Pod)
		address := ""
		if len(pod.Status.PodIPs) > 0 {
			address = pod.Status.PodIPs[0].IP
		}
		return map[string]string{
			"spec.nodeName":            pod.Spec.NodeName,
			"spec.restartPolicy":       string(pod.Spec.RestartPolicy),
			"spec.schedulerName":       pod.Spec.SchedulerName,
			"spec.serviceAccountName":  pod.Spec.ServiceAccountName,
			"spec.hostNetwork":         strconv.FormatBool(pod.Spec.HostNetwork),
			"status.phase":             string(pod.Status.Phase),
			"status.podIP":             address,
			"status.podIPs":            "", // selectors may name it, but kube-apiserver gives it no value
			"status.nominatedNodeName": pod.Status.NominatedNodeName,
		}
	},
	Error: func(name string) error { return fmt.Errorf("field label not supported: %s", name) },
}
