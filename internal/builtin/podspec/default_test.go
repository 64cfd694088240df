package podspec

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestPullPolicy(t *testing.T) {
	t.Parallel()
	for image, want := range map[string]corev1.PullPolicy{
		"":                           corev1.PullIfNotPresent,
		"nginx":                      corev1.PullAlways,
		"nginx:latest":               corev1.PullAlways,
		"nginx:1":                    corev1.PullIfNotPresent,
		"example.com:5000/nginx":     corev1.PullAlways,
		"example.com:5000/nginx:1":   corev1.PullIfNotPresent,
		"nginx@sha256:0123":          corev1.PullIfNotPresent,
		"nginx:latest@sha256:0123":   corev1.PullAlways,
		"example.com/a/b:v1@sha256:": corev1.PullIfNotPresent,
	} {
		if got := pullPolicy(image); got != want {
			t.Errorf("%q: %s", image, got)
		}
	}
}

func TestQualityOfService(t *testing.T) {
	t.Parallel()
	list := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		}
	}
	guaranteed := corev1.ResourceRequirements{Limits: list("1", "1G"), Requests: list("1", "1G")}
	burstable := corev1.ResourceRequirements{Limits: list("1", "1G"), Requests: list("1", "1M")}
	for _, test := range []struct {
		containers []corev1.ResourceRequirements
		want       corev1.PodQOSClass
	}{
		{nil, corev1.PodQOSBestEffort},
		{[]corev1.ResourceRequirements{{}}, corev1.PodQOSBestEffort},
		{[]corev1.ResourceRequirements{guaranteed, guaranteed}, corev1.PodQOSGuaranteed},
		{[]corev1.ResourceRequirements{guaranteed, {}}, corev1.PodQOSBurstable},
		{[]corev1.ResourceRequirements{burstable}, corev1.PodQOSBurstable},
	} {
		pod := &corev1.Pod{}
		for _, r := range test.containers {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Resources: r})
		}
		if got := QualityOfService(pod); got != test.want {
			t.Errorf("%v: %s, want %s", test.containers, got, test.want)
		}
	}
}
