package podspec

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

func (c *checker) checkEphemeralContainers(path *field.Path) (errs field.ErrorList) {
	others := c.containerNames()
	for n := range c.spec.InitContainers {
		others.Insert(c.spec.InitContainers[n].Name)
	}
	names := others.Clone()
	for n := range c.spec.EphemeralContainers {
		ephemeral, item := &c.spec.EphemeralContainers[n], path.Index(n)
		container, target := (*corev1.Container)(&ephemeral.EphemeralContainerCommon), ephemeral.TargetContainerName
		errs = append(errs, slices.Concat(
			c.checkContainer(container, item),
			checkImageSpaces(container, item),
			checkNew(names, container.Name, item.Child("name")),
			rules.When(target != "" && !others.Has(target), field.NotFound(item.Child("targetContainerName"), target)),
			checkEphemeralFields(container, item),
		)...)
	}
	return errs
}

// checkEphemeralFields checks that an ephemeral container has no fields that only others may have.
func checkEphemeralFields(container *corev1.Container, path *field.Path) (errs field.ErrorList) {
	forbid := func(set bool, path *field.Path) {
		errs = append(errs, rules.When(set, field.Forbidden(path, "cannot be set for an Ephemeral Container"))...)
	}
	r := &container.Resources
	forbid(container.Ports != nil, path.Child("ports"))
	forbid(len(r.Limits)+len(r.Requests)+len(r.Claims) > 0, path.Child("resources"))
	forbid(container.ResizePolicy != nil, path.Child("resizePolicy"))
	forbid(container.RestartPolicy != nil, path.Child("restartPolicy"))
	forbid(container.RestartPolicyRules != nil, path.Child("restartPolicyRules"))
	forbid(container.LivenessProbe != nil, path.Child("livenessProbe"))
	forbid(container.ReadinessProbe != nil, path.Child("readinessProbe"))
	forbid(container.StartupProbe != nil, path.Child("startupProbe"))
	forbid(container.Lifecycle != nil, path.Child("lifecycle"))
	for n, mount := range container.VolumeMounts {
		forbid(mount.SubPath != "", path.Child("volumeMounts").Index(n).Child("subPath"))
		forbid(mount.SubPathExpr != "", path.Child("volumeMounts").Index(n).Child("subPathExpr"))
	}
	return errs
}
