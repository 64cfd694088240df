package builtins

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/access/serviceaccounts"
	"github.com/crd-server/crd-server/internal/builtin/pods"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/eviction"
)

// newActions returns the functions of subresources.
func newActions(c *Config) map[string]resource.ActionFunc {
	actions := map[string]resource.ActionFunc{}
	if c.Issuer != nil {
		actions["serviceaccounts/token"] = func(ctx context.Context, r resource.ActionRequest) (runtime.Object, error) {
			request, ok := r.Body.(*authenticationv1.TokenRequest)
			if !ok {
				return nil, fmt.Errorf("the body is a %T", r.Body)
			}
			return c.Issuer.Issue(ctx, serviceaccounts.Request{
				Namespace: r.Namespace, Name: r.Name, TokenRequest: request, Admit: r.Admit,
			})
		}
	}
	if c.Set.Find(corev1.Resource("pods")) != nil {
		actions["pods/binding"], actions["pods/eviction"] = pods.Bind, eviction.New(c.Client).Evict
	}
	return actions
}
