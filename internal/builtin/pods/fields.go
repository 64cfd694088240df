package pods

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func podFields() *resource.Fields {
	values := resource.Paths(&corev1.Pod{}, "spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
		"spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.nominatedNodeName")
	values["status.podIP"] = func(obj runtime.Object) string {
		if addresses := obj.(*corev1.Pod).Status.PodIPs; len(addresses) > 0 {
			return addresses[0].IP
		}
		return ""
	}
	values["status.podIPs"] = func(runtime.Object) string { return "" } // kube-apiserver gives it no value
	return &resource.Fields{Values: values}
}
