package server

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/klog/v2"
)

// healthTimeout bounds one check of etcd.
const healthTimeout = 2 * time.Second

// stage is a part of the start, at whose end hooks are done.
type stage int

const (
	started  stage = iota // requests are served, and controllers run
	synced                // all stored CRDs, roles and bindings are known
	prepared              // the objects that every server has exist
)

// hook is a step of the start that health checks report.
type hook struct {
	name  string
	stage stage
	done  atomic.Bool
}

// Name implements healthz.HealthChecker.
func (h *hook) Name() string { return h.name }

// Check implements healthz.HealthChecker.
func (h *hook) Check(*http.Request) error {
	if !h.done.Load() {
		return errors.New("not finished")
	}
	return nil
}

// healthConfig says what is checked.
type healthConfig struct {
	// storage returns an error unless etcd answers and events arrive.
	storage func(context.Context) error
	// encryption checks key management services; empty if there are none.
	encryption []healthz.HealthChecker
	hooks      []*hook
	stopping   <-chan struct{}
	// installs says that there are CRDs to install.
	installs bool
	// loopback adds the check of the certificate that kube-apiserver shows to itself. This server needs none.
	loopback bool
}

// health is the state that /healthz, /livez and /readyz report. The names of the checks are kube-apiserver's.
type health struct {
	healthConfig
	// informer is done when the table of CustomResourceDefinitions is complete.
	informer *hook
	// installed is done when the CRDs of --crds are served; nil without them.
	installed *hook
}

func newHealth(c healthConfig) *health {
	h := &health{healthConfig: c, informer: &hook{name: "informer-sync", stage: synced}}
	if c.installs {
		h.installed = &hook{name: "crds-installed", stage: prepared}
	}
	return h
}

// finish says that a stage is over.
func (h *health) finish(over stage) {
	for _, step := range append([]*hook{h.informer, h.installed}, h.hooks...) {
		if step != nil && step.stage == over {
			step.done.Store(true)
		}
	}
}

// logCheck waits if the log is blocked. healthz.LogHealthz finds that out in a goroutine that never ends.
var logCheck = healthz.NamedCheck("log", func(*http.Request) error {
	klog.Flush()
	return nil
})

// healthy returns the checks of /healthz.
func (h *health) healthy() []healthz.HealthChecker {
	return h.withHooks(append(h.alive(), h.encryption...))
}

// live returns the checks of /livez.
func (h *health) live() []healthz.HealthChecker { return h.withHooks(h.alive()) }

func (h *health) alive() []healthz.HealthChecker {
	checks := []healthz.HealthChecker{healthz.PingHealthz, logCheck}
	if h.loopback {
		checks = append(checks, healthz.NamedCheck("loopback-serving-certificate", func(*http.Request) error { return nil }))
	}
	return append(checks, h.etcd("etcd"))
}

// ready returns the checks of /readyz.
func (h *health) ready() []healthz.HealthChecker {
	checks := []healthz.HealthChecker{healthz.PingHealthz, logCheck, h.etcd("etcd"), h.etcd("etcd-readiness")}
	checks = h.withHooks(append(append(checks, h.encryption...), h.informer))
	if h.installed != nil {
		checks = append(checks, h.installed)
	}
	return append(checks, healthz.NewShutdownHealthz(h.stopping))
}

// withHooks returns checks and those of the hooks.
func (h *health) withHooks(checks []healthz.HealthChecker) []healthz.HealthChecker {
	for _, step := range h.hooks {
		checks = append(checks, step)
	}
	return checks
}

// etcd returns a check of the storage.
func (h *health) etcd(name string) healthz.HealthChecker {
	return healthz.NamedCheck(name, func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), healthTimeout)
		defer cancel()
		return h.storage(ctx)
	})
}
