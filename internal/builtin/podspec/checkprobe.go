package podspec

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// checkLifecycle checks the hooks and the probes of a container.
func (c *checker) checkLifecycle(container *corev1.Container, path *field.Path) (errs field.ErrorList) {
	if lifecycle := container.Lifecycle; lifecycle != nil {
		errs = append(errs, c.checkHook(lifecycle.PostStart, path.Child("lifecycle", "postStart"))...)
		errs = append(errs, c.checkHook(lifecycle.PreStop, path.Child("lifecycle", "preStop"))...)
	}
	errs = append(errs, checkOnceProbe(container.LivenessProbe, path.Child("livenessProbe"))...)
	if probe := container.ReadinessProbe; probe != nil {
		readiness := path.Child("readinessProbe")
		errs = append(errs, checkProbe(probe, readiness)...)
		if seconds := probe.TerminationGracePeriodSeconds; seconds != nil {
			errs = append(errs, field.Invalid(readiness.Child("terminationGracePeriodSeconds"), seconds,
				"must not be set for readinessProbes"))
		}
	}
	return append(errs, checkOnceProbe(container.StartupProbe, path.Child("startupProbe"))...)
}

// checkOnceProbe checks a probe that one success satisfies.
func checkOnceProbe(probe *corev1.Probe, path *field.Path) field.ErrorList {
	if probe == nil {
		return nil
	}
	errs := checkProbe(probe, path)
	if probe.SuccessThreshold != 1 {
		errs = append(errs, field.Invalid(path.Child("successThreshold"), probe.SuccessThreshold, "must be 1"))
	}
	return errs
}

func checkProbe(probe *corev1.Probe, path *field.Path) field.ErrorList {
	errs := checkHandler(handler{
		exec: probe.Exec, httpGet: probe.HTTPGet, tcpSocket: probe.TCPSocket, grpc: probe.GRPC,
	}, path)
	for _, number := range []struct {
		name  string
		value int32
	}{
		{"initialDelaySeconds", probe.InitialDelaySeconds}, {"timeoutSeconds", probe.TimeoutSeconds},
		{"periodSeconds", probe.PeriodSeconds}, {"successThreshold", probe.SuccessThreshold},
		{"failureThreshold", probe.FailureThreshold},
	} {
		errs = append(errs, apivalidation.ValidateNonnegativeField(int64(number.value), path.Child(number.name))...)
	}
	if seconds := probe.TerminationGracePeriodSeconds; seconds != nil && *seconds <= 0 {
		errs = append(errs, field.Invalid(path.Child("terminationGracePeriodSeconds"), *seconds, "must be greater than 0"))
	}
	return errs
}

func (c *checker) checkHook(hook *corev1.LifecycleHandler, path *field.Path) field.ErrorList {
	if hook == nil {
		return nil
	}
	h := handler{
		exec: hook.Exec, httpGet: hook.HTTPGet, tcpSocket: hook.TCPSocket, sleep: hook.Sleep,
		grace: c.spec.TerminationGracePeriodSeconds,
	}
	return checkHandler(h, path)
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

func checkHandler(h handler, path *field.Path) (errs field.ErrorList) {
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
	if !found {
		errs = append(errs, field.Required(path, "must specify a handler type"))
	}
	return errs
}

func (h *handler) checkExec(path *field.Path) field.ErrorList {
	if len(h.exec.Command) > 0 {
		return nil
	}
	return field.ErrorList{field.Required(path.Child("command"), "")}
}

func (h *handler) checkRequest(path *field.Path) (errs field.ErrorList) {
	request := h.httpGet
	if request.Path == "" {
		errs = append(errs, field.Required(path.Child("path"), ""))
	}
	errs = append(errs, checkPort(request.Port, path.Child("port"))...)
	if request.Scheme != corev1.URISchemeHTTP && request.Scheme != corev1.URISchemeHTTPS {
		errs = append(errs, field.NotSupported(path.Child("scheme"), request.Scheme,
			[]corev1.URIScheme{corev1.URISchemeHTTP, corev1.URISchemeHTTPS}))
	}
	for _, header := range request.HTTPHeaders {
		errs = append(errs, invalid(path.Child("httpHeaders"), header.Name, validation.IsHTTPHeaderName(header.Name))...)
	}
	return errs
}

func (h *handler) checkSocket(path *field.Path) field.ErrorList {
	return checkPort(h.tcpSocket.Port, path.Child("port"))
}

func (h *handler) checkCall(path *field.Path) field.ErrorList {
	return checkPort(intstr.FromInt32(h.grpc.Port), path.Child("port"))
}

func (h *handler) checkSleep(path *field.Path) field.ErrorList {
	if h.grace == nil || h.sleep.Seconds >= 0 && h.sleep.Seconds <= *h.grace {
		return nil
	}
	return field.ErrorList{field.Invalid(path, h.sleep.Seconds,
		fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", *h.grace))}
}

// checkPort checks the number or the name of a port.
func checkPort(port intstr.IntOrString, path *field.Path) field.ErrorList {
	if port.Type == intstr.Int {
		return invalid(path, port.IntValue(), validation.IsValidPortNum(port.IntValue()))
	}
	return invalid(path, port.StrVal, validation.IsValidPortName(port.StrVal))
}
