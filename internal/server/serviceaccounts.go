package server

import (
	"context"
	"fmt"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/access/serviceaccounts"
	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/server/certs"
	"github.com/crd-server/crd-server/internal/server/datadir"
)

// accounts are the parts for tokens of service accounts.
type accounts struct {
	issuer *serviceaccounts.Issuer
	bound  *boundObjects
}

// boundObjects are the objects that tokens are bound to. compose sets them, because the store is made after the
// authenticator. No request is served before.
type boundObjects struct{ serviceaccounts.Objects }

// newAccounts returns the parts for tokens; nil if the server has no service accounts. keys are those of files.
func newAccounts(o *ValidOptions, keys *serviceaccounts.Keys, dir *datadir.Dir) (*accounts, error) {
	if o.builtinTier() == builtin.None {
		return nil, nil
	}
	if keys.Signing == nil {
		generated, err := certs.ServiceAccountKey(dir)
		if err != nil {
			return nil, err
		}
		keys.Signing = generated
	}
	bound := &boundObjects{}
	issuer, err := serviceaccounts.New(serviceaccounts.Config{
		Options: o.ServiceAccounts, Keys: keys, Audiences: o.Authentication.Audiences, Objects: bound,
	})
	if err != nil {
		return nil, err
	}
	return &accounts{issuer: issuer, bound: bound}, nil
}

// actions returns the functions of the subresources of service accounts, by "resource/subresource".
func (a *accounts) actions() map[string]resource.ActionFunc {
	if a == nil {
		return nil
	}
	return map[string]resource.ActionFunc{
		"serviceaccounts/token": func(ctx context.Context, r resource.ActionRequest) (runtime.Object, error) {
			request, ok := r.Body.(*authenticationv1.TokenRequest)
			if !ok {
				return nil, fmt.Errorf("the body is a %T", r.Body)
			}
			return a.issuer.Issue(ctx, serviceaccounts.Request{
				Namespace: r.Namespace, Name: r.Name, TokenRequest: request, Admit: r.Admit,
			})
		},
	}
}

// documents returns the handlers of the documents by which others verify tokens. host is the address of the server.
func (a *accounts) documents(ctx context.Context, host string) map[string]http.Handler {
	if a == nil {
		return nil
	}
	documents, err := a.issuer.Documents(host)
	if err != nil { // as upstream: tokens do not depend on them
		klog.FromContext(ctx).Info("The issuer of service accounts is not published", "err", err)
	}
	return documents
}
