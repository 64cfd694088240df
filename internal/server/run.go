package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/server/certs"
	"github.com/crd-server/crd-server/internal/server/datadir"
	"github.com/crd-server/crd-server/internal/server/etcd"
	"github.com/crd-server/crd-server/internal/server/filters"
)

// Run serves until ctx is done, then drains and returns nil. An error is one readable line for the person who started
// the server; mistakes in the options are a line each.
func Run(ctx context.Context, o *ValidOptions) error { return run(ctx, o, compose) }

// run starts in phases and stops in reverse. A phase that fails leaves nothing behind.
func run(ctx context.Context, o *ValidOptions, compose composer) error {
	// Checks that write nothing come first.
	manifests, err := o.manifests()
	if err != nil {
		return err
	}
	if err := o.certificates().CheckFiles(); err != nil {
		return err
	}
	o = o.forRun(ctx)
	ctx = klog.NewContext(ctx, o.Logger)
	// Background work must go on while the server waits for requests in flight, so it does not end with ctx.
	working, stopWorking := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWorking()
	files, err := configureAccess(working, o)
	if err != nil {
		return err
	}
	listener, err := o.listen(ctx)
	if err != nil {
		return err
	}
	defer listener.Close() // only needed if the start fails: the HTTP server closes it otherwise
	var connection *etcd.Connection
	if len(o.Etcd.Servers) > 0 {
		if connection, err = etcd.Connect(ctx, &o.Etcd); err != nil {
			return ignoreCancelled(ctx, err)
		}
		defer connection.Close()
	}
	dir, err := datadir.Open(o.DataDir)
	if err != nil {
		return err
	}
	defer dir.Close()
	if connection == nil {
		if connection, err = startEtcd(ctx, o, dir); err != nil {
			return ignoreCancelled(ctx, err)
		}
		defer connection.Close()
	}
	f := foundation{
		options: o, configured: files, listener: listener, dir: dir, etcd: connection, stopWorking: stopWorking,
	}
	s, err := f.assemble(working, compose, len(manifests) > 0)
	if err != nil {
		return ignoreCancelled(ctx, err)
	}
	return ignoreCancelled(ctx, s.serve(ctx, working, manifests))
}

// ignoreCancelled returns nil instead of the error of a context that was cancelled: being asked to stop during the
// start is no error.
func ignoreCancelled(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// foundation has what a server is built on. The caller of assemble closes it.
type foundation struct {
	options    *ValidOptions
	configured *configured
	listener   net.Listener
	dir        *datadir.Dir
	etcd       *etcd.Connection
	// stopWorking ends the background work.
	stopWorking context.CancelFunc
}

// server is one running server.
type server struct {
	foundation
	drain     *filters.Drain
	access    *access
	resources *resourceServer
	health    *health
	chain     *filters.Chain
	handler   http.Handler
	// kubeconfig is that of the administrator.
	kubeconfig []byte
	// own passes requests of this server on to handler.
	own *ownHandler
}

// assemble makes a server that does not serve yet: first the storage, then access, the handlers and the controllers.
// The work that it starts ends with working.
func (f foundation) assemble(working context.Context, compose composer, installs bool) (*server, error) {
	o := f.options
	id, kubeconfig, err := f.certify()
	if err != nil {
		return nil, err
	}
	storage, err := newStorage(o, f.etcd, f.configured.encryption)
	if err != nil {
		return nil, err
	}
	own := newOwnHandler(working)
	client := inProcess{own}.clientConfig()
	access, err := f.newAccess(working, id, storage, client)
	if err != nil {
		return nil, err
	}
	resources, err := compose(&components{
		options: o, storage: storage, access: access, client: client, port: portOf(f.listener, &o.Serving),
	})
	if err != nil {
		return nil, fmt.Errorf("set up the handler of custom resources: %w", err)
	}
	drain := filters.NewDrain()
	health := newHealth(health{
		storage: resources.ready, encryption: access.encryption.Checks(), hooks: resources.hooks,
		stopping: drain.Stopping(), loopback: o.KubeAPIServer,
	}, installs)
	router, paths, err := newRouter(f.routes(working, access, resources.resourceHandlers, health))
	if err != nil {
		return nil, err
	}
	chain := newChain(o, access, resources, drain, paths)
	return &server{
		foundation: f, drain: drain, access: access, resources: resources, health: health, chain: chain,
		handler: chain.Handler(router), kubeconfig: kubeconfig, own: own,
	}, nil
}

// routes returns the handlers of all paths.
func (f foundation) routes(working context.Context, a *access, handlers *resourceHandlers, h *health) *routes {
	r := &routes{
		resourceHandlers: handlers, options: f.options, health: h, metrics: []prometheus.Gatherer{handlers.gatherer},
	}
	if f.etcd.Metrics != nil {
		r.metrics = append(r.metrics, f.etcd.Metrics)
	}
	if a.issuer == nil {
		return r
	}
	var err error
	r.documents, err = a.issuer.Documents(strings.TrimPrefix(serverURL(f.listener), "https://"))
	if err != nil { // as upstream: tokens do not depend on them
		klog.FromContext(working).Info("The issuer of service accounts is not published", "err", err)
	}
	return r
}

// certify creates or renews the generated certificates, and writes the admin kubeconfig.
func (f foundation) certify() (id *certs.Identity, kubeconfig []byte, err error) {
	if id, err = certs.NewIdentity(f.options.certificates(), f.dir, time.Now); err != nil {
		return nil, nil, err
	}
	kubeconfig, err = certs.WriteKubeconfig(f.dir, id, serverURL(f.listener))
	return id, kubeconfig, err
}

// recertify renews certificates that become due while the server runs. access.tls follows the files.
func (s *server) recertify(working context.Context) {
	_ = wait.PollUntilContextCancel(working, 24*time.Hour, false, func(context.Context) (done bool, err error) {
		if _, _, err := s.certify(); err != nil {
			klog.FromContext(working).Error(err, "Failed to renew the certificates; the next attempt is in a day")
		}
		return false, nil
	}) // ends with working
}

// serve runs everything until ctx is done or something fails. It stops requests first, and then what they need.
func (s *server) serve(ctx, working context.Context, manifests []manifest) error {
	defer s.stopWorking()
	group, working := errgroup.WithContext(working)
	requests, endRequests := context.WithCancel(working)
	defer endRequests()
	web := newHTTPServer(requests, &s.options.Serving, s.access.tls.Config, s.handler)
	group.Go(func() error { return s.resources.run(working) })
	group.Go(func() error { s.access.tls.Run(working); return nil })
	group.Go(func() error { s.access.run(working); return nil })
	group.Go(func() error { return s.access.audit.Run(requests) })
	group.Go(func() error { s.recertify(working); return nil })
	group.Go(func() error {
		if err := s.etcd.Wait(working); err != nil {
			return fmt.Errorf("the embedded etcd failed: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		err := web.Serve(tls.NewListener(plainHTTPListener{s.listener}, s.access.tls.Config))
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return fmt.Errorf("serve: %w", err)
	})
	group.Go(func() error { s.chain.Run(working); return nil })
	s.health.finish(started)

	err := s.becomeReady(ctx, working, manifests)
	stopLeading, stopIdentifying, stopAnnouncing := func() {}, func() {}, func() {}
	if err == nil {
		stopLeading = inBackground(group, working, s.resources.lead) // the Leases need their namespace
		stopIdentifying = inBackground(group, working, s.resources.Identity)
		stopAnnouncing = s.announce(group, working)
		if register := s.resources.register; register != nil {
			group.Go(func() error { return ignoreCancelled(working, register(working)) })
		}
		select {
		case <-ctx.Done():
		case <-working.Done():
		}
	}
	s.drain.Stop()
	stopLeading() // while requests are served
	stopIdentifying()
	stopAnnouncing()
	s.stopServing(working, web)
	endRequests()
	_ = web.Close() // closes connections that did not end in time
	s.stopWorking()
	if failed := group.Wait(); failed != nil && !errors.Is(failed, context.Canceled) {
		return failed // err may only say that the work has ended
	}
	return err
}

// readyPoll is how often the storage is checked until it is ready at the start.
const readyPoll = 5 * time.Millisecond

// becomeReady waits until the resources are known, writes the objects that every server has, installs the CRDs of
// --crds, and reports that the server is ready.
func (s *server) becomeReady(ctx, working context.Context, manifests []manifest) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(working, cancel)()
	for _, known := range []<-chan struct{}{s.resources.synced, s.resources.loaded} {
		if known == nil {
			continue
		}
		select {
		case <-known:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.own.open(s.handler)
	s.health.finish(synced)
	if s.access.admission != nil {
		if err := s.access.admission.Ready(ctx); err != nil {
			return err
		}
	}
	if err := s.resources.Prepare(ctx); err != nil {
		return err
	}
	if err := install(ctx, inProcess{s.own}.clientConfig(), manifests); err != nil {
		return err
	}
	s.resources.Endpoints.Announce(ctx)
	s.health.finish(prepared)
	// /readyz must succeed from now on, so the watch on etcd has to be established.
	if err := wait.PollUntilContextCancel(ctx, readyPoll, true, func(ctx context.Context) (bool, error) {
		return s.resources.ready(ctx) == nil, nil
	}); err != nil {
		return err
	}
	return s.reportReady()
}
