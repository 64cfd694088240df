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

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/server/certs"
	"github.com/crd-server/crd-server/internal/server/datadir"
	"github.com/crd-server/crd-server/internal/server/etcd"
	"github.com/crd-server/crd-server/internal/server/filters"
	"github.com/crd-server/crd-server/internal/serverendpoints"
)

// parts serve custom resources; compose.go makes them.
type parts struct {
	routes
	// run runs the parts until ctx is done or one of them fails.
	run func(ctx context.Context) error
	// prepare writes the objects that every server has.
	prepare func(ctx context.Context) error
	// lead runs the controllers that only one replica runs, until ctx is done; nil if there are none.
	lead func(ctx context.Context) error
	// identify keeps the Lease of this server, until ctx is done; nil if it has none.
	identify func(ctx context.Context) error
	// register keeps the served groups registered with an aggregator until ctx is done; nil without an aggregator.
	register func(ctx context.Context) error
	// endpoints keeps the Service of the server and its endpoints; nil without Services.
	endpoints *serverendpoints.Controller
	// hooks are the steps of the start that health checks report.
	hooks []*hook
	// ready returns an error unless etcd answers and events arrive.
	ready func(ctx context.Context) error
	// synced is closed when all CustomResourceDefinitions that were stored before the start are known.
	synced <-chan struct{}
	// loaded is closed when all roles and bindings that were stored before the start are known; nil without them.
	loaded <-chan struct{}
	// serves reports whether the resource of a request exists.
	serves func(*request.RequestInfo) bool
	// sizes estimates the size of a resource.
	sizes filters.Sizes
}

// composer makes the parts, which start nothing before run.
type composer func(o *ValidOptions, storage *etcd.Connection, a *access) (*parts, error)

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
	access, err := newAccess(working, o)
	if err != nil {
		return err
	}
	listener, err := o.listen(ctx)
	if err != nil {
		return err
	}
	defer listener.Close() // only needed if the start fails: the HTTP server closes it otherwise
	var storage *etcd.Connection
	if len(o.Etcd.Servers) > 0 {
		if storage, err = etcd.Connect(ctx, &o.Etcd); err != nil {
			return ignoreCancelled(ctx, err)
		}
		defer storage.Close()
	}
	dir, err := openDataDir(o)
	if err != nil {
		return err
	}
	defer dir.Close()
	if storage == nil {
		if storage, err = startEtcd(ctx, o, dir); err != nil {
			return ignoreCancelled(ctx, err)
		}
		defer storage.Close()
	}
	s := &server{
		options: o, listener: listener, dir: dir, storage: storage, drain: filters.NewDrain(), access: access,
		stopWorking: stopWorking,
	}
	if err := s.assemble(working, compose, len(manifests) > 0); err != nil {
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

// server is one running server.
type server struct {
	options  *ValidOptions
	listener net.Listener
	dir      *datadir.Dir
	storage  *etcd.Connection
	drain    *filters.Drain
	access   *access
	chain    *filters.Chain
	// stopWorking ends the background work.
	stopWorking context.CancelFunc

	tls     *certs.TLS
	parts   *parts
	health  *health
	handler http.Handler
	// kubeconfig is that of the administrator.
	kubeconfig []byte
	// own passes requests on to handler, for parts that are made before it.
	own *ownHandler
}

// assemble makes the handler and does not serve yet. The work that it starts ends with working.
func (s *server) assemble(working context.Context, compose composer, installs bool) error {
	id, kubeconfig, err := s.certify()
	if err != nil {
		return err
	}
	s.kubeconfig = kubeconfig
	if err := s.completeAccess(working, id); err != nil {
		return err
	}
	s.knowPort()
	if s.parts, err = compose(s.options, s.storage, s.access); err != nil {
		return fmt.Errorf("set up the handler of custom resources: %w", err)
	}
	s.health = newHealth(healthConfig{
		storage: s.parts.ready, encryption: s.access.keyManagement(), hooks: s.parts.hooks, stopping: s.drain.Stopping(),
		installs: installs, loopback: s.options.KubeAPIServer,
	})
	s.parts.health, s.parts.profiling, s.parts.flags = s.health, s.options.Profiling, s.options.flags
	s.parts.component = s.options.componentName()
	s.parts.extensions = &s.options.Extensions
	if s.storage.Metrics != nil {
		s.parts.metrics = append(s.parts.metrics, s.storage.Metrics)
	}
	s.parts.documents = s.access.accounts.documents(working, strings.TrimPrefix(serverURL(s.listener), "https://"))
	router, paths, err := newRouter(&s.parts.routes)
	if err != nil {
		return err
	}
	s.chain = newChain(s.options, s.access, s.parts, s.drain, paths)
	s.handler = s.chain.Handler(router)
	return nil
}

// completeAccess completes s.access with the certificates, and makes the TLS configuration that asks clients for
// theirs.
func (s *server) completeAccess(working context.Context, id *certs.Identity) error {
	authorities, watchers, err := certs.ReadAuthorities(id)
	if err != nil {
		return err
	}
	if s.access.accounts, err = newAccounts(s.options, s.access.keys, s.dir); err != nil {
		return err
	}
	s.own = newOwnHandler(working)
	all := dynamiccertificates.NewUnionCAContentProvider(authorities...)
	if err := s.access.complete(working, s.options, all, s.own); err != nil {
		return err
	}
	s.publish(authorities)
	s.access.trust, s.access.trustFixed = id.TrustFile, id.IsFixed(id.TrustFile)
	s.tls, err = certs.NewTLS(s.options.certificates(), id, certs.Authorities{
		CAContentProvider: s.access.authenticator.ClientCAs, Watchers: watchers, Change: s.access.authenticator.Follows(),
	})
	return err
}

// certify creates or renews the generated certificates, and writes the admin kubeconfig.
func (s *server) certify() (id *certs.Identity, kubeconfig []byte, err error) {
	if id, err = certs.NewIdentity(s.options.certificates(), s.dir, time.Now); err != nil {
		return nil, nil, err
	}
	kubeconfig, err = certs.WriteKubeconfig(s.dir, id, serverURL(s.listener))
	return id, kubeconfig, err
}

// recertify renews certificates that become due while the server runs. s.tls follows the files.
func (s *server) recertify(working context.Context) {
	daily := time.NewTicker(24 * time.Hour)
	defer daily.Stop()
	for {
		select {
		case <-daily.C:
			if _, _, err := s.certify(); err != nil {
				klog.FromContext(working).Error(err, "Failed to renew the certificates; the next attempt is in a day")
			}
		case <-working.Done():
			return
		}
	}
}

// serve runs everything until ctx is done or something fails. It stops requests first, and then what they need.
func (s *server) serve(ctx, working context.Context, manifests []manifest) error {
	defer s.stopWorking()
	group, working := errgroup.WithContext(working)
	requests, endRequests := context.WithCancel(working)
	defer endRequests()
	web := newHTTPServer(requests, &s.options.Serving, s.tls.Config, s.handler)
	group.Go(func() error { return s.parts.run(working) })
	group.Go(func() error { s.tls.Run(working); return nil })
	group.Go(func() error { s.access.run(working); return nil })
	group.Go(func() error { return s.access.audit.Run(requests) })
	group.Go(func() error { s.recertify(working); return nil })
	group.Go(func() error { return s.watchStorage(working) })
	group.Go(func() error {
		err := web.Serve(tls.NewListener(plainHTTPListener{s.listener}, s.tls.Config))
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
		stopLeading = inBackground(group, working, s.parts.lead) // the Leases need their namespace
		stopIdentifying = inBackground(group, working, s.parts.identify)
		stopAnnouncing = s.announce(group, working)
		if s.parts.register != nil {
			group.Go(func() error { return ignoreCancelled(working, s.parts.register(working)) })
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
	for _, known := range []<-chan struct{}{s.parts.synced, s.parts.loaded} {
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
	if err := s.parts.prepare(ctx); err != nil {
		return err
	}
	if err := install(ctx, s.handler, manifests); err != nil {
		return err
	}
	s.parts.endpoints.Announce(ctx)
	s.health.finish(prepared)
	// /readyz must succeed from now on, so the watch on etcd has to be established.
	if err := wait.PollUntilContextCancel(ctx, readyPoll, true, func(ctx context.Context) (bool, error) {
		return s.parts.ready(ctx) == nil, nil
	}); err != nil {
		return err
	}
	return s.reportReady()
}
