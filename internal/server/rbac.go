package server

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	authorizer "github.com/crd-server/crd-server/internal/access/authorization/rbac"
	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/rbac/aggregation"
	"github.com/crd-server/crd-server/internal/builtin/rbac/policy"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// roleParts are the parts of a server that serves roles and bindings.
type roleParts struct {
	defaults   policy.Reconciler
	controller *aggregation.Controller
}

// newRoles returns the parts for roles and bindings; nil if the server does not serve them. client is for requests to
// this server.
func newRoles(o *ValidOptions, s *stored, client *rest.Config) (*roleParts, error) {
	roles := s.builtins.Find(rbacv1.Resource("clusterroles"))
	bindings := s.builtins.Find(rbacv1.Resource("clusterrolebindings"))
	if roles == nil || bindings == nil {
		return nil, nil
	}
	controller, err := aggregation.New(aggregation.Config{
		Store: s.store, Set: s.builtins, ClusterRoles: roles, Client: client,
	})
	if err != nil {
		return nil, err
	}
	return &roleParts{
		defaults: policy.Reconciler{
			Store: s.store, Set: s.builtins, ClusterRoles: roles, ClusterRoleBindings: bindings, Client: client,
			Cluster: o.builtinTier() == builtin.TierAll,
		},
		controller: controller,
	}, nil
}

// ensure reconciles the default roles and bindings. A failure does not keep the server from being ready, because
// admission may refuse one of them.
func (p *roleParts) ensure(ctx context.Context) error {
	if p == nil {
		return nil
	}
	if err := p.defaults.Run(ctx); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Default roles and bindings are incomplete until the next start")
	}
	return ctx.Err()
}

// followRoles makes writes of roles and bindings wait until decisions follow them. It returns a channel that is closed
// when all stored ones are known; nil without roles.
func followRoles(roles *authorizer.Index, store *dynamicstorage.Store) <-chan struct{} {
	if roles == nil {
		return nil
	}
	roles.Follow(store)
	return roles.Loaded()
}
