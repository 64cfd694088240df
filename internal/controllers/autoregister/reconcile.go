package autoregister

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// reconcile makes one APIService as it should be. It asks again what is served whenever another replica was faster.
func (c *Controller) reconcile(ctx context.Context, name string) error {
	atStart := c.initial.Has(name)
	_, err := c.services.Update(ctx, name,
		func(ctx context.Context, current *dynamicstorage.Entry) (dynamicstorage.Change, error) {
			return c.change(ctx, name, current, atStart)
		}, dynamicstorage.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("storing: %w", err)
	}
	c.initial.Delete(name)
	return nil
}

// change returns the change that makes a stored APIService as it should be. current is nil if there is none.
func (c *Controller) change(
	ctx context.Context, name string, current *dynamicstorage.Entry, atStart bool,
) (dynamicstorage.Change, error) {
	wanted := c.wanted(versionOf(name))
	if current == nil {
		if wanted == nil {
			return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
		}
		wanted.UID, wanted.CreationTimestamp = uuid.NewUUID(), metav1.Now()
		return c.put(ctx, wanted)
	}
	obj, err := c.codec.Object(current)
	if err != nil {
		return dynamicstorage.Change{}, err
	}
	found := obj.(*apiregistrationv1.APIService)
	switch {
	case !manages(found, atStart):
		return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
	case wanted == nil:
		return dynamicstorage.Change{Op: dynamicstorage.Delete}, nil
	case isCurrent(found, wanted):
		return dynamicstorage.Change{Op: dynamicstorage.Keep}, nil
	}
	found.Labels[managedLabel], found.Spec = wanted.Labels[managedLabel], wanted.Spec
	return c.put(ctx, found)
}

// Initial returns the APIServices of built-in resources, which exist before a server is ready. They are of Definition.
func (c *Controller) Initial() []*apiregistrationv1.APIService {
	var services []*apiregistrationv1.APIService
	for version := range c.builtIn {
		if service := c.wanted(version); service != nil {
			helper.SetAPIServiceCondition(service, helper.NewLocalAvailableAPIServiceCondition())
			services = append(services, service)
		}
	}
	return services
}

// wanted returns the APIService of a group and version, or nil if it should have none.
func (c *Controller) wanted(version schema.GroupVersion) *apiregistrationv1.APIService {
	if p, listed := priorities[version]; listed && c.builtIn.Has(version) {
		return newAPIService(version, p, managedAtStart)
	}
	if !c.builtIn.Has(version) && c.config.Serves(version) {
		return newAPIService(version, customPriority, managedAlways)
	}
	return nil
}

// manages reports whether an APIService may be changed. One without the label belongs to somebody else. One of built-in
// resources may belong to a server that has started since, such as a kube-apiserver that serves more of them.
func manages(found *apiregistrationv1.APIService, atStart bool) bool {
	switch found.Labels[managedLabel] {
	case managedAlways:
		return true
	case managedAtStart:
		return atStart
	default:
		return false
	}
}

func isCurrent(found, wanted *apiregistrationv1.APIService) bool {
	return equality.Semantic.DeepEqual(found.Spec, wanted.Spec) &&
		helper.IsAPIServiceConditionTrue(found, apiregistrationv1.Available)
}

// put stores an APIService, which is available because this server answers for it.
func (c *Controller) put(
	ctx context.Context, service *apiregistrationv1.APIService,
) (dynamicstorage.Change, error) {
	helper.SetAPIServiceCondition(service, helper.NewLocalAvailableAPIServiceCondition())
	value, _, err := c.codec.Encode(ctx, service)
	return dynamicstorage.Change{Op: dynamicstorage.Put, Value: value}, err
}
