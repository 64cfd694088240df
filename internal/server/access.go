package server

import (
	"context"
	"net/http"

	"golang.org/x/sync/errgroup"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/component-base/tracing"

	"github.com/crd-server/crd-server/internal/admission"
	"github.com/crd-server/crd-server/internal/audit"
	"github.com/crd-server/crd-server/internal/authentication"
	"github.com/crd-server/crd-server/internal/authorization"
	"github.com/crd-server/crd-server/internal/encryption"
)

// guards are what stands between clients and what is stored, as far as flags ask for it.
type guards struct {
	authorizer *authorization.Authorizer
	audit      *audit.Audit
	// encryption is nil if nothing is encrypted.
	encryption *encryption.Transformer
	// tracer is nil if nothing is traced.
	tracer tracing.TracerProvider

	// The rest needs the certificates that are generated, and the server's own handler: see complete.

	authenticator *authentication.Authenticator
	// admission is nil if nobody is asked.
	admission *admission.Admission
	// trust is the file with what clients should recognise the server by.
	trust string
}

// newGuards makes what depends on files only, before anything is written or listens. What it starts ends with lifecycle.
func newGuards(lifecycle context.Context, o *Options) (g *guards, err error) {
	g = &guards{}
	if g.authorizer, err = authorization.New(&o.Authorization); err != nil {
		return nil, err
	}
	if g.encryption, err = encryption.New(lifecycle, &o.Encryption, o.Etcd.root(), componentName); err != nil {
		return nil, err
	}
	if g.tracer, err = newTracing(lifecycle, o.TracingFile); err != nil {
		return nil, err
	}
	g.audit, err = audit.New(&o.Audit)
	return g, err
}

// complete makes the rest. own is the server's handler as it will be.
func (g *guards) complete(lifecycle context.Context, o *Options, clientCAs dynamiccertificates.CAContentProvider, own http.Handler) (err error) {
	g.authenticator, err = authentication.New(lifecycle, authentication.Config{
		Options:        &o.Authentication,
		ClientCAs:      clientCAs,
		First:          ownRequests,
		AnonymousPaths: healthPaths,
	})
	if err != nil {
		return err
	}
	g.admission, err = admission.New(lifecycle, admission.Config{
		Options:    &o.Admission,
		Authorizer: g.authorizer,
		OpenAPI:    inProcess{own},
		Tracer:     tracerOf(g.tracer),
		ID:         componentName,
	})
	return err
}

// run follows files and host clusters until the context ends.
func (g *guards) run(ctx context.Context) {
	group := errgroup.Group{}
	group.Go(func() error { g.authenticator.Run(ctx); return nil })
	group.Go(func() error { g.authorizer.Run(ctx); return nil })
	if g.encryption != nil {
		group.Go(func() error { g.encryption.Run(ctx); return nil })
	}
	if g.admission != nil {
		group.Go(func() error { g.admission.Run(ctx); return nil })
	}
	_ = group.Wait() // none of them fails
	if g.tracer != nil {
		g.stopTracing()
	}
}
