package server

import (
	"context"

	"golang.org/x/sync/errgroup"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/tracing"

	"github.com/crd-server/crd-server/internal/access/admission"
	"github.com/crd-server/crd-server/internal/access/audit"
	"github.com/crd-server/crd-server/internal/access/authentication"
	"github.com/crd-server/crd-server/internal/access/authorization"
	"github.com/crd-server/crd-server/internal/access/authorization/rbac"
	tokens "github.com/crd-server/crd-server/internal/access/serviceaccounts"
	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/clustertrust"
	"github.com/crd-server/crd-server/internal/controllers/serviceaccounts"
	"github.com/crd-server/crd-server/internal/encryption"
	"github.com/crd-server/crd-server/internal/server/builtins"
	"github.com/crd-server/crd-server/internal/server/certs"
	"github.com/crd-server/crd-server/internal/users"
)

// configured has what is made of files only, before the server writes anything or listens.
type configured struct {
	authorizer *authorization.Authorizer
	// roles are the stored roles and bindings; nil without built-in resources.
	roles *rbac.Index
	audit *audit.Audit
	// keys are those of files that sign and verify tokens of service accounts.
	keys *tokens.Keys
	// encryption is nil if nothing is encrypted.
	encryption *encryption.Transformer
	// tracer is nil if nothing is traced.
	tracer tracing.TracerProvider
}

// configureAccess reads the files. The work that it starts ends with lifecycle.
func configureAccess(lifecycle context.Context, o *ValidOptions) (*configured, error) {
	var roles *rbac.Index
	if o.builtinTier() != builtin.None {
		roles = rbac.NewIndex()
	}
	authorizer, err := authorization.New(authorization.Config{
		Options: o.authorization(), First: o.Extensions.Authorizer, Roles: roles, ID: o.id(),
	})
	if err != nil {
		return nil, err
	}
	keys, err := tokens.ReadKeys(&o.ServiceAccounts)
	if err != nil {
		return nil, err
	}
	transformer, err := encryption.New(lifecycle, &o.Encryption, o.folders().Resource, o.id())
	if err != nil {
		return nil, err
	}
	tracer, err := newTracing(lifecycle, o.TracingFile, o.componentName())
	if err != nil {
		return nil, err
	}
	written, err := audit.New(&o.Audit)
	if err != nil {
		return nil, err
	}
	return &configured{
		authorizer: authorizer, roles: roles, audit: written, keys: keys, encryption: transformer, tracer: tracer,
	}, nil
}

// access decides whose requests are served and what they may do.
type access struct {
	*configured
	authenticator *authentication.Authenticator
	// issuer issues and verifies tokens of service accounts; nil without built-in resources.
	issuer *tokens.Issuer
	// removed refuses the certificates of users who were removed; nil without built-in resources.
	removed *users.Removed
	// admission is nil if all objects are admitted.
	admission *admission.Admission
	// services finds the addresses of webhooks that are services.
	services webhook.ServiceResolver
	trust    builtins.Trust
	// tls asks clients for their certificates.
	tls *certs.TLS
}

// newAccess makes the rest of access. client is for requests to this server. The work that it starts ends with
// lifecycle.
func (f foundation) newAccess(
	lifecycle context.Context, id *certs.Identity, s *storage, client *rest.Config,
) (*access, error) {
	o := f.options
	authorities, err := certs.ReadAuthorities(id)
	if err != nil {
		return nil, err
	}
	var issuer *tokens.Issuer
	var removed *users.Removed
	authenticating := authenticationConfig(o, dynamiccertificates.NewUnionCAContentProvider(authorities...))
	if o.builtinTier() != builtin.None {
		if issuer, err = f.newTokenIssuer(s, client); err != nil {
			return nil, err
		}
		removed = users.NewRemoved()
		authenticating.ServiceAccounts, authenticating.Removed = issuer, removed
	}
	authenticator, err := authentication.New(lifecycle, authenticating)
	if err != nil {
		return nil, err
	}
	services := o.Services.Resolver(o.hasHost() || o.builtinTier() == builtin.None)
	admitted, err := admission.New(lifecycle, admission.Config{
		Options:     &o.Admission,
		Authorizer:  f.configured.authorizer,
		Own:         client,
		ServesRules: o.builtinTier() != builtin.None,
		Services:    services,
		Tracer:      tracerOf(f.configured.tracer),
		ID:          o.id(),
	})
	if err != nil {
		return nil, err
	}
	if roles := f.configured.roles; roles != nil {
		roles.DelayWrites(s.store)
	}
	tls, err := certs.NewTLS(o.certificates(), id, certs.Authorities{
		CAContentProvider: authenticator.ClientCAs, Read: authorities, Change: authenticator.Follows(),
	})
	if err != nil {
		return nil, err
	}
	return &access{
		configured: f.configured, authenticator: authenticator, issuer: issuer, removed: removed, admission: admitted,
		services: services, tls: tls,
		trust: builtins.Trust{
			File: id.TrustFile, Fixed: id.IsFixed(id.TrustFile),
			Published: f.publishedTrust(authenticator, authorities),
		},
	}, nil
}

// newTokenIssuer returns the issuer of tokens.
func (f foundation) newTokenIssuer(s *storage, client *rest.Config) (*tokens.Issuer, error) {
	keys := *f.configured.keys
	if keys.Signing == nil {
		generated, err := certs.ServiceAccountKey(f.dir)
		if err != nil {
			return nil, err
		}
		keys.Signing = generated
	}
	return tokens.New(tokens.Config{
		Options: f.options.ServiceAccounts, Keys: &keys, Audiences: f.options.Authentication.Audiences,
		Objects: serviceaccounts.NewObjects(s.store, s.builtins, client),
	})
}

// authenticationConfig returns the configuration of the authenticator, without what needs built-in resources.
func authenticationConfig(o *ValidOptions, clientCAs dynamiccertificates.CAContentProvider) authentication.Config {
	return authentication.Config{
		Options:        &o.Authentication,
		ClientCAs:      clientCAs,
		First:          ownRequests,
		Last:           o.Extensions.Authenticator,
		AnonymousPaths: healthPaths,
	}
}

// publishedTrust returns what the server says to other servers of the cluster about the authorities of its clients. The
// first of them is the generated one. It is left out if it ends with this process, and the stored objects do not.
func (f foundation) publishedTrust(
	a *authentication.Authenticator, authorities []dynamiccertificates.CAContentProvider,
) clustertrust.Info {
	if f.dir.IsTemporary() && len(f.options.Etcd.Servers) > 0 {
		authorities = authorities[1:]
	}
	info := clustertrust.Info{FrontProxies: a.RequestHeaders}
	if len(authorities) > 0 {
		info.ClientCA = dynamiccertificates.NewUnionCAContentProvider(authorities...)
	}
	return info
}

// run follows changes of files and of host clusters until ctx is done.
func (a *access) run(ctx context.Context) {
	group := errgroup.Group{}
	group.Go(func() error { a.authenticator.Run(ctx); return nil })
	group.Go(func() error { a.authorizer.Run(ctx); return nil })
	group.Go(func() error { a.encryption.Run(ctx); return nil })
	if a.admission != nil {
		group.Go(func() error { a.admission.Run(ctx); return nil })
	}
	_ = group.Wait() // no function of the group fails
	if a.tracer != nil {
		a.stopTracing(ctx)
	}
}
