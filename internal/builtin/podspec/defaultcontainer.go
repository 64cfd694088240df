package podspec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func defaultContainer(c *corev1.Container) {
	setIfZero(&c.ImagePullPolicy, pullPolicy(c.Image))
	setIfZero(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	setIfZero(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for n := range c.Ports {
		setIfZero(&c.Ports[n].Protocol, corev1.ProtocolTCP)
	}
	for n := range c.Env {
		if from := c.Env[n].ValueFrom; from != nil {
			defaultSource(from)
		}
	}
	defaultRequirements(c.Resources.Limits, c.Resources.Requests)
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if probe != nil {
			defaultProbe(probe)
		}
	}
	if c.Lifecycle == nil {
		return
	}
	for _, hook := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
		if hook != nil && hook.HTTPGet != nil {
			defaultRequest(hook.HTTPGet)
		}
	}
}

// pullPolicy returns the policy for an image without one: images that are tagged latest, or not tagged, may change.
func pullPolicy(image string) corev1.PullPolicy {
	name, _, byDigest := strings.Cut(image, "@")
	_, tag, tagged := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
	if tag == "latest" || !tagged && !byDigest && name != "" {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}

func defaultSource(from *corev1.EnvVarSource) {
	if from.FieldRef != nil {
		setIfZero(&from.FieldRef.APIVersion, "v1")
	}
	if from.FileKeyRef != nil {
		resource.Default(&from.FileKeyRef.Optional, false)
	}
}

func defaultProbe(probe *corev1.Probe) {
	setIfZero(&probe.TimeoutSeconds, 1)
	setIfZero(&probe.PeriodSeconds, 10)
	setIfZero(&probe.SuccessThreshold, 1)
	setIfZero(&probe.FailureThreshold, 3)
	if probe.HTTPGet != nil {
		defaultRequest(probe.HTTPGet)
	}
	if probe.GRPC != nil {
		resource.Default(&probe.GRPC.Service, "")
	}
}

func defaultRequest(request *corev1.HTTPGetAction) {
	setIfZero(&request.Path, "/")
	setIfZero(&request.Scheme, corev1.URISchemeHTTP)
}
