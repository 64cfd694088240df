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

// hook is a step of the start that health checks report.
type hook struct {
	name string
	done atomic.Bool
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
	// informer is done when the informer of CustomResourceDefinitions has synced.
	informer hook
	// startInformers and startControllers are done when these run, synced when the table of resources is complete.
	startInformers, startControllers, synced hook
	// installed is done when the CRDs of --crds are served; nil without the flag.
	installed *hook
	// encryption checks key management services; empty if there are none.
	encryption []healthz.HealthChecker
	stopping   <-chan struct{}
}

func newHealth(stopping <-chan struct{}, installs bool) *health {
	h := &health{
		storage:          func(context.Context) error { return errors.New("not connected") },
		informer:         hook{name: "informer-sync"},
		startInformers:   hook{name: "poststarthook/start-apiextensions-informers"},
		startControllers: hook{name: "poststarthook/start-apiextensions-controllers"},
		synced:           hook{name: "poststarthook/crd-informer-synced"},
		stopping:         stopping,
	}
	if installs {
		h.installed = &hook{name: "crds-installed"}
	}
	return h
}

// logCheck waits if the log is blocked. healthz.LogHealthz finds that out in a goroutine that never ends.
var logCheck = healthz.NamedCheck("log", func(*http.Request) error {
	klog.Flush()
	return nil
})

// live returns the checks of /livez and /healthz.
func (h *health) live() []healthz.HealthChecker {
	return []healthz.HealthChecker{
		healthz.PingHealthz, logCheck, h.etcd("etcd"),
		&h.startInformers, &h.startControllers, &h.synced,
	}
}

// ready returns the checks of /readyz.
func (h *health) ready() []healthz.HealthChecker {
	checks := []healthz.HealthChecker{
		healthz.PingHealthz, logCheck, h.etcd("etcd"), h.etcd("etcd-readiness"), &h.informer,
		&h.startInformers, &h.startControllers, &h.synced,
	}
	if h.installed != nil {
		checks = append(checks, h.installed)
	}
	checks = append(checks, h.encryption...)
	return append(checks, healthz.NewShutdownHealthz(h.stopping))
}

// etcd returns a check of the storage.
func (h *health) etcd(name string) healthz.HealthChecker {
	return healthz.NamedCheck(name, func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), healthTimeout)
		defer cancel()
		return h.storage(ctx)
	})
}
