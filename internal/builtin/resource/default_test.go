package resource

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// TestDefaults sets defaults of values, pointers, lists and objects. What is set stays, and an object that is left out
// too.
func TestDefaults(t *testing.T) {
	t.Parallel()
	set := Defaults[corev1.PodSpec]([]byte(`
dnsPolicy: Default
terminationGracePeriodSeconds: 5
securityContext: {}
containers:
  image: a
  livenessProbe: {periodSeconds: 2, httpGet: {path: /}}
volumes:
  hostPath: {type: Socket}
`))
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{}}}
	spec := &corev1.PodSpec{
		Containers: []corev1.Container{{Image: "b"}, {LivenessProbe: probe}},
		Volumes: []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}}}, {Name: "other"},
		},
	}
	set(spec)
	seconds, socket := int64(5), corev1.HostPathSocket
	want := &corev1.PodSpec{
		DNSPolicy: corev1.DNSDefault, TerminationGracePeriodSeconds: &seconds,
		SecurityContext: &corev1.PodSecurityContext{},
		Containers: []corev1.Container{{Image: "b"}, {Image: "a", LivenessProbe: &corev1.Probe{
			PeriodSeconds: 2, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/"}},
		}}},
		Volumes: []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Type: &socket}}}, {Name: "other"},
		},
	}
	if !equality.Semantic.DeepEqual(spec, want) {
		t.Errorf("got %+v", spec)
	}
	other := &corev1.PodSpec{}
	if set(other); other.SecurityContext == spec.SecurityContext {
		t.Error("two objects share a value")
	}
}

// TestDefaultsFit checks that a name that is not one of a field is found.
func TestDefaultsFit(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Defaults[corev1.PodSpec]([]byte("dnsPolicies: Default"))(&corev1.PodSpec{})
}
