package podspec

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/rules"
)

// checkLifecycle checks the hooks and the probes of a container.
func (c *checker) checkLifecycle(container *corev1.Container, path *field.Path) field.ErrorList {
	hooks := ptr.Deref(container.Lifecycle, corev1.Lifecycle{})
	once := func(probe corev1.Probe, path *field.Path) field.ErrorList {
		return append(checkProbe(&probe, path), rules.Invalid(probe.SuccessThreshold != 1,
			path.Child("successThreshold"), probe.SuccessThreshold, "must be 1")...)
	}
	return slices.Concat(
		rules.Optional(hooks.PostStart, path.Child("lifecycle", "postStart"), c.checkHook),
		rules.Optional(hooks.PreStop, path.Child("lifecycle", "preStop"), c.checkHook),
		rules.Optional(container.LivenessProbe, path.Child("livenessProbe"), once),
		rules.Optional(container.ReadinessProbe, path.Child("readinessProbe"), checkReadiness),
		rules.Optional(container.StartupProbe, path.Child("startupProbe"), once),
	)
}

func checkReadiness(probe corev1.Probe, path *field.Path) field.ErrorList {
	return append(checkProbe(&probe, path), rules.Invalid(probe.TerminationGracePeriodSeconds != nil,
		path.Child("terminationGracePeriodSeconds"), probe.TerminationGracePeriodSeconds,
		"must not be set for readinessProbes")...)
}

func checkProbe(probe *corev1.Probe, path *field.Path) field.ErrorList {
	seconds := ptr.Deref(probe.TerminationGracePeriodSeconds, 1)
	return slices.Concat(
		checkHandler(path, execAction(probe.Exec), httpAction(probe.HTTPGet), tcpAction(probe.TCPSocket),
			action{"grpc", probe.GRPC != nil, func(path *field.Path) field.ErrorList {
				return rules.Port(intstr.FromInt32(probe.GRPC.Port), path.Child("port"))
			}}),
		rules.NonNegatives(probe, path,
			"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"),
		rules.Invalid(seconds <= 0, path.Child("terminationGracePeriodSeconds"), seconds, "must be greater than 0"),
	)
}

func (c *checker) checkHook(hook corev1.LifecycleHandler, path *field.Path) field.ErrorList {
	return checkHandler(path, execAction(hook.Exec), httpAction(hook.HTTPGet), tcpAction(hook.TCPSocket),
		action{"sleep", hook.Sleep != nil, func(path *field.Path) field.ErrorList {
			seconds, grace := hook.Sleep.Seconds, ptr.Deref(c.spec.TerminationGracePeriodSeconds, math.MaxInt64)
			return rules.Invalid(seconds < 0 || seconds > grace, path, seconds,
				fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", grace))
		}})
}

// action is one of the things that a probe or a hook may do.
type action struct {
	name  string
	set   bool
	check func(path *field.Path) field.ErrorList
}

// checkHandler checks that there is one action, and the first one.
func checkHandler(path *field.Path, actions ...action) (errs field.ErrorList) {
	found := false
	for _, a := range actions {
		switch {
		case !a.set:
		case found:
			errs = append(errs, field.Forbidden(path.Child(a.name), "may not specify more than 1 handler type"))
		default:
			found = true
			errs = append(errs, a.check(path.Child(a.name))...)
		}
	}
	return append(errs, rules.Missing(!found, path, "must specify a handler type")...)
}

func execAction(exec *corev1.ExecAction) action {
	return action{"exec", exec != nil, func(path *field.Path) field.ErrorList {
		return rules.Missing(len(exec.Command) == 0, path.Child("command"), "")
	}}
}

func tcpAction(socket *corev1.TCPSocketAction) action {
	return action{"tcpSocket", socket != nil, func(path *field.Path) field.ErrorList {
		return rules.Port(socket.Port, path.Child("port"))
	}}
}

func httpAction(get *corev1.HTTPGetAction) action {
	return action{"httpGet", get != nil, func(path *field.Path) field.ErrorList {
		errs := slices.Concat(
			rules.Required(get.Path, path.Child("path")),
			rules.Port(get.Port, path.Child("port")),
			rules.Known(get.Scheme, path.Child("scheme"), corev1.URISchemeHTTP, corev1.URISchemeHTTPS),
		)
		for _, header := range get.HTTPHeaders {
			errs = append(errs,
				rules.Messages(path.Child("httpHeaders"), header.Name, validation.IsHTTPHeaderName(header.Name))...)
		}
		return errs
	}}
}
