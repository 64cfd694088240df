package allocator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// claims are the claims on what Services share: on cluster IPs, or on node ports. A claim is an entry that is named as
// the address or the port, and refers to its Service.
type claims struct {
	entries  *dynamicstorage.Resource
	services *services
	// encode returns the value of a claim.
	encode func(ctx context.Context, name string, owner owner) ([]byte, error)
	// decode returns the Service of a claim. It is empty if the claim belongs to something else.
	decode func(*dynamicstorage.Entry) (owner, error)
	// namesOf returns the names of what a Service has.
	namesOf func(*corev1.Service) []string
}

// owner refers to a Service.
type owner = networkingv1.ParentReference

func ownerOf(service *corev1.Service) owner {
	return owner{Resource: servicesResource.Resource, Namespace: service.Namespace, Name: service.Name}
}

// item is an address or a port.
type item struct {
	*claims
	name string
}

// claim is a claim of a Service on an item. It may exist or not.
type claim struct {
	item
	owner owner
}

// service returns the namespace and the name of the Service.
func (c claim) service() string { return c.owner.Namespace + "/" + c.owner.Name }

// refusal is an error that says why a Service cannot have an item.
type refusal string

func (r refusal) Error() string { return string(r) }

func isRefusal(err error) bool {
	_, is := errors.AsType[refusal](err)
	return is
}

const (
	errTaken   refusal = "provided IP is already allocated"
	errForeign refusal = "the provided network does not match the current range"
	errFull    refusal = "range is full"
)

// take creates the claim. The error is errTaken if there is one already. While the condition holds, the claim exists.
func (c claim) take(ctx context.Context) (dynamicstorage.Condition, error) {
	value, err := c.encode(ctx, c.name, c.owner)
	if err != nil {
		return dynamicstorage.Condition{}, err
	}
	create := func(_ context.Context, current *dynamicstorage.Entry) (dynamicstorage.Change, error) {
		if current != nil {
			return dynamicstorage.Change{}, errTaken
		}
		return dynamicstorage.Change{Op: dynamicstorage.Put, Value: value}, nil
	}
	entry, err := c.entries.Update(ctx, c.name, create, dynamicstorage.UpdateOptions{Absent: true})
	if err != nil {
		return dynamicstorage.Condition{}, err
	}
	return c.entries.Still(c.name, entry.CreateRevision()), nil
}

// isTaken reports whether there is a claim on the item.
func (i item) isTaken(ctx context.Context, mode dynamicstorage.ReadMode) (bool, error) {
	_, _, err := i.entries.Get(ctx, i.name, dynamicstorage.ReadAt{Mode: mode})
	if errors.Is(err, dynamicstorage.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// agree makes the claim agree with the stored Service: it creates the claim if the Service has the item, and removes it
// if the Service does not have the item. A claim of another Service stays. has says that the Service has the item.
//
// The transaction fails if the Service has changed since it was read, and then agree reads it again. A write of the
// Service that is under way meanwhile fails if its claim is removed: see request.Conditions.
func (c claim) agree(ctx context.Context) (has bool, err error) {
	change := func(ctx context.Context, current *dynamicstorage.Entry) (change dynamicstorage.Change, err error) {
		change, has, err = c.agreed(ctx, current)
		return change, err
	}
	for {
		_, err := c.entries.Update(ctx, c.name, change, dynamicstorage.UpdateOptions{})
		switch {
		case errors.Is(err, dynamicstorage.ErrCondition):
			continue
		case err != nil:
			return false, fmt.Errorf("claim %s of the Service %s: %w", c.name, c.service(), err)
		}
		return has, nil
	}
}

// agreed returns the change of the current entry that agree makes, and whether the Service has the item.
func (c claim) agreed(
	ctx context.Context, current *dynamicstorage.Entry,
) (_ dynamicstorage.Change, has bool, _ error) {
	keep := dynamicstorage.Change{Op: dynamicstorage.Keep}
	service, unchanged, err := c.services.get(ctx, c.owner)
	if err != nil {
		return keep, false, err
	}
	conditions := []dynamicstorage.Condition{unchanged}
	has = service != nil && slices.Contains(c.namesOf(service), c.name)
	switch {
	case has && current == nil:
		value, err := c.encode(ctx, c.name, c.owner)
		return dynamicstorage.Change{Op: dynamicstorage.Put, Value: value, If: conditions}, has, err
	case has || current == nil:
		return keep, has, nil
	}
	if holder, err := c.decode(current); err != nil || holder != c.owner {
		return keep, false, err
	}
	return dynamicstorage.Change{Op: dynamicstorage.Delete, If: conditions}, false, nil
}

// addTo adds the stored claims of Services to held.
func (c *claims) addTo(ctx context.Context, held map[item]owner) error {
	return eachEntry(ctx, c.entries, func(entry *dynamicstorage.Entry) error {
		holder, err := c.decode(entry)
		if err == nil && holder != (owner{}) {
			held[item{c, entry.Key}] = holder
		}
		return err
	})
}

// services reads the stored Services.
type services struct {
	entries *dynamicstorage.Resource
	decode  func(*dynamicstorage.Entry) (runtime.Object, error)
}

// get returns a Service, or nil if there is none. The condition holds while that stays as it is.
func (s *services) get(ctx context.Context, o owner) (*corev1.Service, dynamicstorage.Condition, error) {
	key := o.Namespace + "/" + o.Name
	entry, _, err := s.entries.Get(ctx, key, dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
	if errors.Is(err, dynamicstorage.ErrNotFound) {
		return nil, s.entries.Unchanged(key, 0), nil
	}
	if err != nil {
		return nil, dynamicstorage.Condition{}, err
	}
	obj, err := s.decode(entry)
	if err != nil {
		return nil, dynamicstorage.Condition{}, err
	}
	return obj.(*corev1.Service), s.entries.Unchanged(key, entry.Revision), nil
}

// each calls f for every Service.
func (s *services) each(ctx context.Context, f func(*corev1.Service)) error {
	return eachEntry(ctx, s.entries, func(entry *dynamicstorage.Entry) error {
		obj, err := s.decode(entry)
		if err == nil {
			f(obj.(*corev1.Service))
		}
		return err
	})
}

// eachEntry calls f for every entry. Its errors are logged: an entry that cannot be read affects no other one.
func eachEntry(ctx context.Context, r *dynamicstorage.Resource, f func(*dynamicstorage.Entry) error) error {
	_, err := r.Each(ctx, func(entry *dynamicstorage.Entry) {
		if err := f(entry); err != nil {
			klog.FromContext(ctx).Error(err, "Skipping an object that cannot be read", "resource", r.Folder(), "key", entry.Key)
		}
	})
	return err
}
