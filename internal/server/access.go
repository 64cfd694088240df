package server

import (
	"context"
	"net/http"

	"golang.org/x/sync/errgroup"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/component-base/tracing"

	"github.com/crd-server/crd-server/internal/access/admission"
	"github.com/crd-server/crd-server/internal/access/audit"
	"github.com/crd-server/crd-server/internal/access/authentication"
	"github.com/crd-server/crd-server/internal/access/authorization"
	"github.com/crd-server/crd-server/internal/access/authorization/rbac"
	"github.com/crd-server/crd-server/internal/access/serviceaccounts"
	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/clustertrust"
	"github.com/crd-server/crd-server/internal/encryption"
	"github.com/crd-server/crd-server/internal/users"
)

// access is what flags configure between clients and the storage: authentication, authorization, admission, audit,
// encryption, tracing.
type access struct {
	authorizer *authorization.Authorizer
	// roles are the stored roles and bindings; nil without built-in resources.
	roles *rbac.Index
	audit *audit.Audit
	// keys are those of files that sign and verify tokens of service accounts.
	keys *serviceaccounts.Keys
	// encryption is nil if nothing is encrypted.
	encryption *encryption.Transformer
	// tracer is nil if nothing is traced.
	tracer tracing.TracerProvider

	// The fields below need the generated certificates and the server's own handler; complete sets them.

	// accounts are nil if the server has no service accounts.
	accounts *accounts
	// removed refuses the certificates of users who were removed; nil if the server has no Secrets for their records.
	removed *users.Removed

	// own passes requests on to the server's handler when that exists.
	own http.Handler

	authenticator *authentication.Authenticator
	// admission is nil if all objects are admitted.
	admission *admission.Admission
	// services finds the addresses of webhooks that are services.
	services webhook.ServiceResolver
	// trust is the file with the authority by which clients recognise the server. trustFixed says that it never changes.
	trust      string
	trustFixed bool
	// published says to other servers by whom this one recognises its clients.
	published clustertrust.Info
}

// newAccess makes what depends on files only, before the server writes anything or listens. The work that it starts
// ends with lifecycle.
func newAccess(lifecycle context.Context, o *ValidOptions) (a *access, err error) {
	a = &access{}
	if o.builtinTier() != builtin.None {
		a.roles = rbac.NewIndex()
	}
	deciding := authorization.Config{
		Options: o.authorization(), First: o.Extensions.Authorizer, Roles: a.roles, ID: o.id(),
	}
	if a.authorizer, err = authorization.New(deciding); err != nil {
		return nil, err
	}
	if a.keys, err = serviceaccounts.ReadKeys(&o.ServiceAccounts); err != nil {
		return nil, err
	}
	if a.encryption, err = encryption.New(lifecycle, &o.Encryption, o.folders().Resource, o.id()); err != nil {
		return nil, err
	}
	if a.tracer, err = newTracing(lifecycle, o.TracingFile, o.componentName()); err != nil {
		return nil, err
	}
	a.audit, err = audit.New(&o.Audit)
	return a, err
}

// complete makes the rest.
func (a *access) complete(lifecycle context.Context, o *ValidOptions, clientCAs dynamiccertificates.CAContentProvider, own http.Handler) (err error) {
	a.own = own
	authenticating := authentication.Config{
		Options:        &o.Authentication,
		ClientCAs:      clientCAs,
		First:          ownRequests,
		Last:           o.Extensions.Authenticator,
		AnonymousPaths: healthPaths,
	}
	if a.accounts != nil {
		authenticating.ServiceAccounts = a.accounts.issuer
	}
	if o.builtinTier() != builtin.None {
		a.removed = users.NewRemoved()
		authenticating.Removed = a.removed
	}
	a.authenticator, err = authentication.New(lifecycle, authenticating)
	if err != nil {
		return err
	}
	a.services = o.Services.Resolver(o.hasHost() || o.builtinTier() == builtin.None)
	a.admission, err = admission.New(lifecycle, admission.Config{
		Options:     &o.Admission,
		Authorizer:  a.authorizer,
		Own:         inProcess{own}.clientConfig(),
		ServesRules: o.builtinTier() != builtin.None,
		Services:    a.services,
		Tracer:      tracerOf(a.tracer),
		ID:          o.id(),
	})
	return err
}

// keyManagement returns the checks of key management services.
func (a *access) keyManagement() []healthz.HealthChecker {
	if a.encryption == nil {
		return nil
	}
	return a.encryption.Checks()
}

// run follows changes of files and of host clusters until ctx is done.
func (a *access) run(ctx context.Context) {
	group := errgroup.Group{}
	group.Go(func() error { a.authenticator.Run(ctx); return nil })
	group.Go(func() error { a.authorizer.Run(ctx); return nil })
	if a.encryption != nil {
		group.Go(func() error { a.encryption.Run(ctx); return nil })
	}
	if a.admission != nil {
		group.Go(func() error { a.admission.Run(ctx); return nil })
	}
	_ = group.Wait() // no function of the group fails
	if a.tracer != nil {
		a.stopTracing(ctx)
	}
}
