package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/klog/v2"
)

// healthTimeout bounds one check of etcd.
const healthTimeout = 2 * time.Second

// stage is a part of the start, at whose end hooks are done.
type stage string

const (
	started  stage = "started"  // requests are served, and controllers run
	synced   stage = "synced"   // all stored CRDs, roles and bindings are known
	prepared stage = "prepared" // the objects that every server has exist
)

// hook is a step of the start that health checks report.
type hook struct {
	name  string
	stage stage
	// onlyReady says that only /readyz reports it.
	onlyReady bool
	done      atomic.Bool
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

// health is the state that /healthz, /livez and /readyz report. The names of the checks are kube-apiserver's.
type health struct {
	// storage returns an error unless etcd answers and events arrive.
	storage func(context.Context) error
	// encryption checks key management services; empty if there are none.
	encryption []healthz.HealthChecker
	hooks      []*hook
	stopping   <-chan struct{}
	// loopback adds the check of the certificate that kube-apiserver shows to itself. This server needs none.
	loopback bool
}

// newHealth adds hooks to h: the table of CustomResourceDefinitions is complete and, if installs is true, the
// CRDs of --crds are served.
func newHealth(h health, installs bool) *health {
	h.hooks = slices.Insert(h.hooks, 0, &hook{name: "informer-sync", stage: synced, onlyReady: true})
	if installs {
		h.hooks = append(h.hooks, &hook{name: "crds-installed", stage: prepared, onlyReady: true})
	}
	return &h
}

// finish says that a stage is over.
func (h *health) finish(over stage) {
	for _, step := range h.hooks {
		if step.stage == over {
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
	return h.withHooks(append(h.alive(), h.encryption...), false)
}

// live returns the checks of /livez.
func (h *health) live() []healthz.HealthChecker { return h.withHooks(h.alive(), false) }

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
	checks = h.withHooks(append(checks, h.encryption...), true)
	return append(checks, healthz.NewShutdownHealthz(h.stopping))
}

// withHooks returns checks and those of the hooks. ready says that they are for /readyz.
func (h *health) withHooks(checks []healthz.HealthChecker, ready bool) []healthz.HealthChecker {
	for _, step := range h.hooks {
		if ready || !step.onlyReady {
			checks = append(checks, step)
		}
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
