// Package policystatus checks the types in the expressions of ValidatingAdmissionPolicies, and writes what it finds to
// their status, as the controller validatingadmissionpolicy-status of kube-controller-manager. Warnings of the status
// do not change what a policy does.
package policystatus

import (
	"context"
	"fmt"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	policy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	apply "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	client "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/workers"
)

// fieldManager owns the status. The name is that of upstream's controller.
const fieldManager = "validatingadmissionpolicy-status"

// Controller keeps the status of policies. One replica runs it at a time, but several do no harm.
type Controller struct {
	stored   *dynamicstorage.Resource
	policies client.ValidatingAdmissionPolicyInterface
	mapper   *restmapper.DeferredDiscoveryRESTMapper
	checker  *policy.TypeChecker
}

// New returns the controller of the policies in a resource. config is for requests to this server.
func New(stored *dynamicstorage.Resource, config *rest.Config) *Controller {
	requests := client.NewForConfigOrDie(config)
	discovered := discovery.NewDiscoveryClientForConfigOrDie(config)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(discovered))
	return &Controller{
		stored: stored, policies: requests.ValidatingAdmissionPolicies(), mapper: mapper,
		checker: &policy.TypeChecker{
			SchemaResolver: &resolver.ClientDiscoveryResolver{Discovery: discovered}, RestMapper: mapper,
		},
	}
}

// Run works until ctx is done, and returns when all goroutines of the controller have ended. It may be called again.
func (c *Controller) Run(ctx context.Context) {
	queue := workers.NewQueue[string]("validatingadmissionpolicy_status", time.Minute)
	var working sync.WaitGroup
	working.Go(func() { queue.Work(ctx, 1, "Checking the types of a policy failed, will retry", c.reconcile) })
	c.stored.Follow(ctx, dynamicstorage.Follower{Changed: func(event *dynamicstorage.Event) {
		if event.Entry != nil {
			queue.Add(event.Entry.Key)
		}
	}})
	working.Wait()
}

// reconcile checks a policy whose status is of an older generation.
func (c *Controller) reconcile(ctx context.Context, name string) error {
	p, err := c.policies.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}
	if p.Generation <= p.Status.ObservedGeneration {
		return nil
	}
	c.mapper.Reset() // the policy may be about kinds that are new
	_, err = c.policies.ApplyStatus(ctx, statusOf(p, c.checker.Check(p)),
		metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("apply the status: %w", err)
	}
	return nil
}

// statusOf returns the status of a policy for which there are warnings.
func statusOf(
	p *admissionregistrationv1.ValidatingAdmissionPolicy, warnings []admissionregistrationv1.ExpressionWarning,
) *apply.ValidatingAdmissionPolicyApplyConfiguration {
	checked := apply.TypeChecking()
	for _, warning := range warnings {
		checked.WithExpressionWarnings(
			apply.ExpressionWarning().WithFieldRef(warning.FieldRef).WithWarning(warning.Warning))
	}
	status := apply.ValidatingAdmissionPolicyStatus().WithObservedGeneration(p.Generation).WithTypeChecking(checked)
	return apply.ValidatingAdmissionPolicy(p.Name).WithStatus(status)
}
