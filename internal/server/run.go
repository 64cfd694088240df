package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sync/errgroup"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"
)

// parts are what serves custom resources: see compose.go.
type parts struct {
	routes
	// run keeps them working until ctx is done, or one of them fails.
	run func(ctx context.Context) error
	// register keeps the served groups registered with an aggregator until ctx is done; nil if there is none.
	register func(ctx context.Context) error
	// storage asks whether etcd answers and events arrive.
	storage func(ctx context.Context) error
	// synced is closed when all CustomResourceDefinitions that were stored before the start are known.
	synced <-chan struct{}
	// serves says whether a request is about a resource that there is.
	serves func(*request.RequestInfo) bool
	// size tells how much there is of a resource.
	size sizes
	// burst is where work announces much garbage.
	burst *burst
}

// composer makes the parts over a connection to etcd. They do nothing before run.
type composer func(o *Options, stored *storage, g *guards) (*parts, error)

// Run serves until ctx is done, then drains and returns nil. An error is one readable line for the person who started the
// server (for mistakes in the options: a line each).
func Run(ctx context.Context, o *Options) error { return run(ctx, o, compose) }

// run starts in phases, each of which leaves nothing behind when it fails, and stops in reverse.
func run(ctx context.Context, o *Options, compose composer) error {
	if err := o.Validate(); err != nil {
		return err
	}
	// What can be refused without having written anything comes first.
	manifests, err := readManifests(o.CRDs)
	if err != nil {
		return err
	}
	if err := o.checkGivenFiles(); err != nil {
		return err
	}
	// Work goes on while requests in flight are waited for, hence does not end with ctx.
	working, stopWorking := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWorking()
	guards, err := newGuards(working, o)
	if err != nil {
		return err
	}
	listener, err := listen(ctx, &o.Serving)
	if err != nil {
		return err
	}
	defer listener.Close() // the HTTP server has closed it already, unless the start failed
	var stored *storage
	if len(o.Etcd.Servers) > 0 {
		if stored, err = connectEtcd(ctx, &o.Etcd); err != nil {
			return ignoreCancelled(ctx, err)
		}
		defer stored.close()
	}
	dir, err := openDataDir(o.DataDir)
	if err != nil {
		return err
	}
	defer dir.Close() // nothing is left to be done about a lock that cannot be released
	if stored == nil {
		if stored, err = startEtcd(ctx, dir); err != nil {
			return ignoreCancelled(ctx, err)
		}
		defer stored.close()
	}
	s := &server{options: o, listener: listener, dir: dir, storage: stored, drain: newDrain(), guards: guards, stopWorking: stopWorking}
	if err := s.assemble(working, compose, len(manifests) > 0); err != nil {
		return ignoreCancelled(ctx, err)
	}
	return ignoreCancelled(ctx, s.serve(ctx, working, manifests))
}

// ignoreCancelled makes being asked to stop during the start no error.
func ignoreCancelled(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// server is one running server.
type server struct {
	options  *Options
	listener net.Listener
	dir      *DataDir
	storage  *storage
	drain    *drain
	guards   *guards
	inFlight *inFlight
	// stopWorking ends what was started for as long as the server works.
	stopWorking context.CancelFunc

	security *security
	parts    *parts
	health   *health
	handler  http.Handler
	// own is the handler for parts that are made before it.
	own *ownHandler
}

// assemble puts the handler together; nothing is served yet. What it starts ends with working.
func (s *server) assemble(working context.Context, compose composer, installs bool) error {
	id, err := s.certify()
	if err != nil {
		return err
	}
	if err := s.guard(working, id); err != nil {
		return err
	}
	if s.parts, err = compose(s.options, s.storage, s.guards); err != nil {
		return fmt.Errorf("set up the handler of custom resources: %w", err)
	}
	s.health = newHealth(s.drain.stopping, installs)
	s.health.storage = s.parts.storage
	if s.guards.encryption != nil {
		s.health.encryption = s.guards.encryption.Checks()
	}
	s.parts.health, s.parts.profiling, s.parts.flags = s.health, s.options.Profiling, s.options.flags
	router, paths := newRouter(&s.parts.routes)
	shown := &metricLabels{paths: paths, serves: s.parts.serves}
	s.inFlight = newInFlight(&s.options.Requests, s.parts.size, shown)
	c := &chain{
		serving:  &s.options.Serving,
		requests: &s.options.Requests,
		guards:   s.guards,
		inFlight: s.inFlight,
		labels:   shown,
		synced:   s.parts.synced,
		drain:    s.drain,
	}
	s.handler = c.around(router)
	return nil
}

// guard settles whom clients have to get past, and asks them for certificates that are believed.
func (s *server) guard(working context.Context, id *identity) error {
	authorities, watchers, err := readAuthorities(id)
	if err != nil {
		return err
	}
	s.own = newOwnHandler(working)
	if err := s.guards.complete(working, s.options, authorities, s.own); err != nil {
		return err
	}
	s.guards.trust = id.trustFile
	s.security, err = newSecurity(id, s.guards.authenticator.ClientCAs, watchers)
	return err
}

// certify makes or renews the generated certificates, and the admin kubeconfig with them.
func (s *server) certify() (id *identity, err error) {
	if id, err = newIdentity(s.options, s.dir, time.Now); err != nil {
		return nil, err
	}
	return id, writeKubeconfig(s.dir, id, serverURL(s.listener))
}

// recertify renews certificates that become due while the server runs; TLS notices the new files by itself.
func (s *server) recertify(working context.Context) {
	daily := time.NewTicker(24 * time.Hour)
	defer daily.Stop()
	for {
		select {
		case <-daily.C:
			if _, err := s.certify(); err != nil {
				klog.ErrorS(err, "Renewing the certificates failed, will retry tomorrow")
			}
		case <-working.Done():
			return
		}
	}
}

// serve runs everything until ctx is done or something fails, and then stops it: requests first, what they need after them.
func (s *server) serve(ctx, working context.Context, manifests []manifest) error {
	defer s.stopWorking()
	group, working := errgroup.WithContext(working)
	requests, endRequests := context.WithCancel(working)
	defer endRequests()
	web := newHTTPServer(requests, &s.options.Serving, s.security.config, s.handler)
	group.Go(func() error { followHeap(working, s.parts.burst); return nil })
	group.Go(func() error { return s.parts.run(working) })
	group.Go(func() error { s.security.run(working); return nil })
	group.Go(func() error { s.guards.run(working); return nil })
	group.Go(func() error { return s.guards.audit.Run(requests) })
	group.Go(func() error { s.recertify(working); return nil })
	group.Go(func() error { return s.watchStorage(working) })
	group.Go(func() error {
		err := web.Serve(tls.NewListener(s.listener, s.security.config))
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return fmt.Errorf("serve: %w", err)
	})
	group.Go(func() error { s.inFlight.report(working); return nil })
	s.health.startInformers.done.Store(true)
	s.health.startControllers.done.Store(true)

	err := s.becomeReady(ctx, working, manifests)
	if err == nil {
		group.Go(func() error { releaseMemory(working, s.parts.burst); return nil })
		if s.parts.register != nil {
			group.Go(func() error { return ignoreCancelled(working, s.parts.register(working)) })
		}
		select {
		case <-ctx.Done():
		case <-working.Done():
		}
	}
	s.stopServing(working, web)
	endRequests()
	_ = web.Close() // connections that did not end in time
	s.stopWorking()
	if failed := group.Wait(); failed != nil && !errors.Is(failed, context.Canceled) {
		return failed // the reason why, should err only say that work has ended
	}
	return err
}

// watchStorage fails when the embedded etcd does.
func (s *server) watchStorage(working context.Context) error {
	select {
	case err := <-s.storage.failed:
		return fmt.Errorf("the embedded etcd failed: %w", err)
	case <-working.Done():
		return nil
	}
}

// becomeReady waits for the resources to be known, installs those of --crds and says that the server is ready.
func (s *server) becomeReady(ctx, working context.Context, manifests []manifest) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(working, cancel)()
	select {
	case <-s.parts.synced:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.own.open(s.handler)
	s.health.informer.done.Store(true)
	s.health.synced.done.Store(true)
	if err := install(ctx, s.handler, manifests); err != nil {
		return err
	}
	if s.health.installed != nil {
		s.health.installed.done.Store(true)
	}
	took := time.Since(s.options.Started).Round(time.Millisecond)
	_, err := fmt.Fprintf(s.options.Out, "crd-server is ready after %v at %s; use it with: export KUBECONFIG=%s\n",
		took, serverURL(s.listener), shellQuote(s.dir.Path(kubeconfigFile)))
	if err != nil {
		return fmt.Errorf("say that the server is ready: %w", err)
	}
	// Nothing is said unless systemd has started the process and waits for it.
	if _, err := daemon.SdNotify(true, daemon.SdNotifyReady); err != nil {
		klog.ErrorS(err, "systemd was not told that the server is ready")
	}
	return nil
}

// stopServing takes the server out of service: first unready, then without new requests, until those in flight are done
// or their time is over.
func (s *server) stopServing(working context.Context, web *http.Server) {
	close(s.drain.stopping)
	delay := time.NewTimer(s.options.Requests.ShutdownDelay)
	defer delay.Stop()
	select {
	case <-delay.C:
	case <-working.Done(): // there is nothing left to serve with
	}
	close(s.drain.ending)
	ctx, cancel := context.WithTimeout(working, s.options.Requests.Timeout)
	defer cancel()
	go s.drain.requests.Wait() // refuses further requests on open connections; ends with the requests
	go s.drain.watches.Wait()
	_ = web.Shutdown(ctx) // fails when time is over; the caller closes what is left
}
