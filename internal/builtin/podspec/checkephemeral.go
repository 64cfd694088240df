package podspec

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (c *checker) checkEphemeralContainers(path *field.Path) (errs field.ErrorList) {
	others := sets.New[string]()
	for _, containers := range [][]corev1.Container{c.spec.Containers, c.spec.InitContainers} {
		for n := range containers {
			others.Insert(containers[n].Name)
		}
	}
	names := others.Clone()
	for n := range c.spec.EphemeralContainers {
		ephemeral, item := &c.spec.EphemeralContainers[n], path.Index(n)
		container := (*corev1.Container)(&ephemeral.EphemeralContainerCommon)
		errs = append(errs, c.checkContainer(container, item)...)
		errs = append(errs, CheckImageSpaces(container.Image, item.Child("image"))...)
		if names.Has(container.Name) {
			errs = append(errs, field.Duplicate(item.Child("name"), container.Name))
		}
		names.Insert(container.Name)
		if target := ephemeral.TargetContainerName; target != "" && !others.Has(target) {
			errs = append(errs, field.NotFound(item.Child("targetContainerName"), target))
		}
		errs = append(errs, checkEphemeralFields(container, item)...)
	}
	return errs
}

// checkEphemeralFields checks that an ephemeral container has no fields that only others may have.
func checkEphemeralFields(container *corev1.Container, path *field.Path) (errs field.ErrorList) {
	const message = "cannot be set for an Ephemeral Container"
	for _, part := range []struct {
		name string
		set  bool
	}{
		{"ports", container.Ports != nil},
		{"resources", len(container.Resources.Limits)+len(container.Resources.Requests)+len(container.Resources.Claims) > 0},
		{"resizePolicy", container.ResizePolicy != nil}, {"restartPolicy", container.RestartPolicy != nil},
		{"restartPolicyRules", container.RestartPolicyRules != nil},
		{"livenessProbe", container.LivenessProbe != nil}, {"readinessProbe", container.ReadinessProbe != nil},
		{"startupProbe", container.StartupProbe != nil}, {"lifecycle", container.Lifecycle != nil},
	} {
		if part.set {
			errs = append(errs, field.Forbidden(path.Child(part.name), message))
		}
	}
	for n, mount := range container.VolumeMounts {
		if mount.SubPath != "" {
			errs = append(errs, field.Forbidden(path.Child("volumeMounts").Index(n).Child("subPath"), message))
		}
		if mount.SubPathExpr != "" {
			errs = append(errs, field.Forbidden(path.Child("volumeMounts").Index(n).Child("subPathExpr"), message))
		}
	}
	return errs
}
