package serviceaccounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errInvalidated answers a token whose bound object is gone.
var errInvalidated = errors.New("service account token has been invalidated")

// checkBound returns an error unless the account and the object that a token is bound to exist. An object whose
// deletion began before deadline counts as deleted, although finalizers keep it.
func (i *Issuer) checkBound(ctx context.Context, bound *boundClaims, deadline time.Time) error {
	if bound.Validating != nil || bound.Mutating != nil {
		return errors.New("the token is bound to a webhook")
	}
	account, err := i.current(ctx, ObjectRef{"serviceaccounts", bound.Namespace, bound.Account.Name}, bound.Account.UID)
	switch {
	case err != nil:
		return err
	case string(account.GetUID()) != bound.Account.UID:
		return fmt.Errorf("service account UID (%s) does not match claim (%s)", account.GetUID(), bound.Account.UID)
	case deletedBefore(account, deadline):
		return fmt.Errorf("service account %s/%s has been deleted", bound.Namespace, bound.Account.Name)
	}
	for _, other := range bound.others() {
		obj, err := i.current(ctx, other.object, other.uid)
		switch {
		case err != nil, deletedBefore(obj, deadline):
			return errInvalidated
		case string(obj.GetUID()) != other.uid:
			return fmt.Errorf("%s UID (%s) does not match service account %s ref claim (%s)",
				other.kind, obj.GetUID(), other.kind, other.uid)
		}
	}
	return nil
}

// boundObject is an object besides the account that a token is bound to. kind names it in errors.
type boundObject struct {
	object    ObjectRef
	uid, kind string
}

// others returns the objects besides the account. The node of a token that is bound to a pod is only information.
func (b *boundClaims) others() (others []boundObject) {
	if b.Secret != nil {
		ref := ObjectRef{"secrets", b.Namespace, b.Secret.Name}
		others = append(others, boundObject{ref, b.Secret.UID, "secret"})
	}
	if b.Pod != nil {
		others = append(others, boundObject{ObjectRef{"pods", b.Namespace, b.Pod.Name}, b.Pod.UID, "pod"})
	}
	if b.Node != nil && b.Pod == nil {
		others = append(others, boundObject{ObjectRef{"nodes", "", b.Node.Name}, b.Node.UID, "node"})
	}
	return others
}

// current returns an object of the cache if it has the UID. Otherwise the cache may be older than the token, which
// another replica may have issued a moment ago, and etcd decides.
func (i *Issuer) current(ctx context.Context, ref ObjectRef, uid string) (metav1.Object, error) {
	obj, err := i.objects.Metadata(ctx, ref, false)
	if err == nil && string(obj.GetUID()) == uid || err != nil && !apierrors.IsNotFound(err) {
		return obj, err
	}
	return i.objects.Metadata(ctx, ref, true)
}

func deletedBefore(obj metav1.Object, deadline time.Time) bool {
	deleted := obj.GetDeletionTimestamp()
	return deleted != nil && deleted.Time.Before(deadline)
}
