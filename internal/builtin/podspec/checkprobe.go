package podspec

import (
	"fmt"
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
	hooks, readiness := ptr.Deref(container.Lifecycle, corev1.Lifecycle{}), container.ReadinessProbe
	once := func(probe *corev1.Probe, path *field.Path) field.ErrorList {
		return append(checkProbe(probe, path), rules.When(probe != nil && probe.SuccessThreshold != 1,
			field.Invalid(path.Child("successThreshold"), ptr.Deref(probe, corev1.Probe{}).SuccessThreshold, "must be 1"))...)
	}
	return slices.Concat(
		c.checkHook(hooks.PostStart, path.Child("lifecycle", "postStart")),
		c.checkHook(hooks.PreStop, path.Child("lifecycle", "preStop")),
		once(container.LivenessProbe, path.Child("livenessProbe")),
		checkProbe(readiness, path.Child("readinessProbe")),
		rules.When(readiness != nil && readiness.TerminationGracePeriodSeconds != nil,
			field.Invalid(path.Child("readinessProbe", "terminationGracePeriodSeconds"),
				ptr.Deref(readiness, corev1.Probe{}).TerminationGracePeriodSeconds, "must not be set for readinessProbes")),
		once(container.StartupProbe, path.Child("startupProbe")),
	)
}

func checkProbe(probe *corev1.Probe, path *field.Path) field.ErrorList {
	if probe == nil {
		return nil
	}
	h := handler{exec: probe.Exec, httpGet: probe.HTTPGet, tcpSocket: probe.TCPSocket, grpc: probe.GRPC}
	seconds := ptr.Deref(probe.TerminationGracePeriodSeconds, 1)
	return slices.Concat(
		h.check(path),
		rules.NonNegative(probe.InitialDelaySeconds, path.Child("initialDelaySeconds")),
		rules.NonNegative(probe.TimeoutSeconds, path.Child("timeoutSeconds")),
		rules.NonNegative(probe.PeriodSeconds, path.Child("periodSeconds")),
		rules.NonNegative(probe.SuccessThreshold, path.Child("successThreshold")),
		rules.NonNegative(probe.FailureThreshold, path.Child("failureThreshold")),
		rules.When(seconds <= 0,
			field.Invalid(path.Child("terminationGracePeriodSeconds"), seconds, "must be greater than 0")),
	)
}

func (c *checker) checkHook(hook *corev1.LifecycleHandler, path *field.Path) field.ErrorList {
	if hook == nil {
		return nil
	}
	h := handler{exec: hook.Exec, httpGet: hook.HTTPGet, tcpSocket: hook.TCPSocket, sleep: hook.Sleep,
		grace: c.spec.TerminationGracePeriodSeconds}
	return h.check(path)
}

// handler is what a probe or a hook does.
type handler struct {
	exec      *corev1.ExecAction
	httpGet   *corev1.HTTPGetAction
	tcpSocket *corev1.TCPSocketAction
	grpc      *corev1.GRPCAction
	sleep     *corev1.SleepAction
	// grace limits how long a hook may sleep.
	grace *int64
}

// check checks that there is one action, and the first one.
func (h *handler) check(path *field.Path) (errs field.ErrorList) {
	found := false
	for _, action := range []struct {
		name  string
		set   bool
		check func(path *field.Path) field.ErrorList
	}{
		{"exec", h.exec != nil, h.checkExec}, {"httpGet", h.httpGet != nil, h.checkRequest},
		{"tcpSocket", h.tcpSocket != nil, h.checkSocket}, {"grpc", h.grpc != nil, h.checkCall},
		{"sleep", h.sleep != nil, h.checkSleep},
	} {
		switch {
		case !action.set:
		case found:
			errs = append(errs, field.Forbidden(path.Child(action.name), "may not specify more than 1 handler type"))
		default:
			found = true
			errs = append(errs, action.check(path.Child(action.name))...)
		}
	}
	return append(errs, rules.When(!found, field.Required(path, "must specify a handler type"))...)
}

func (h *handler) checkExec(path *field.Path) field.ErrorList {
	return rules.When(len(h.exec.Command) == 0, field.Required(path.Child("command"), ""))
}

func (h *handler) checkRequest(path *field.Path) field.ErrorList {
	errs := slices.Concat(
		rules.Required(h.httpGet.Path, path.Child("path")),
		rules.Port(h.httpGet.Port, path.Child("port")),
		rules.Known(h.httpGet.Scheme, path.Child("scheme"), corev1.URISchemeHTTP, corev1.URISchemeHTTPS),
	)
	for _, header := range h.httpGet.HTTPHeaders {
		errs = append(errs,
			rules.Messages(path.Child("httpHeaders"), header.Name, validation.IsHTTPHeaderName(header.Name))...)
	}
	return errs
}

func (h *handler) checkSocket(path *field.Path) field.ErrorList {
	return rules.Port(h.tcpSocket.Port, path.Child("port"))
}

func (h *handler) checkCall(path *field.Path) field.ErrorList {
	return rules.Port(intstr.FromInt32(h.grpc.Port), path.Child("port"))
}

func (h *handler) checkSleep(path *field.Path) field.ErrorList {
	if h.grace == nil {
		return nil
	}
	return rules.When(h.sleep.Seconds < 0 || h.sleep.Seconds > *h.grace, field.Invalid(path, h.sleep.Seconds,
		fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", *h.grace)))
}
