package quota

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	resourcequotaapi "k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	core "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/crd-server/crd-server/internal/controllers/quota/evaluators"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// locks is the number of locks that the namespaces share.
const locks = 64

// Admission is the admission plugin ResourceQuota. It runs after all other validating admission, for writes of objects
// in namespaces.
type Admission struct {
	quotas store
	client core.ResourceQuotasGetter
	// limited is what no object may use unless a quota limits it.
	limited []resourcequotaapi.LimitedResource
	// locked has a lock for the namespaces of each hash: writes in one namespace would only make each other's update of
	// its quotas fail.
	locked [locks]*semaphore.Weighted
	seed   maphash.Seed
}

func newAdmission(config Config, quotas store, c core.ResourceQuotasGetter) *Admission {
	a := &Admission{quotas: quotas, client: c, seed: maphash.MakeSeed()}
	if config.Limited != nil {
		a.limited = config.Limited.LimitedResources
	}
	for n := range a.locked {
		a.locked[n] = semaphore.NewWeighted(1)
	}
	return a
}

// Updates reports whether updates at an endpoint may change what an object uses.
func (a *Admission) Updates(gr schema.GroupResource, subresource string) bool {
	return evaluators.UpdatesCount(gr, subresource)
}

// Reserve adds what a new or updated object uses to the usage of the quotas of its namespace. The error is the answer
// to the request, if the object exceeds one of them. attributes returns those of the request; it is only called if the
// namespace has quotas.
//
// The controller corrects the usage if the object is not stored after all.
func (a *Admission) Reserve(ctx context.Context, namespace string, attributes func() admission.Attributes) error {
	quotas, err := a.quotas.list(ctx, namespace, dynamicstorage.Any)
	if err != nil {
		return internalError(err)
	}
	if len(quotas) == 0 && len(a.limited) == 0 {
		return nil
	}
	r := reservation{Admission: a, attributes: attributes()}
	if r.evaluator = evaluators.For(r.attributes.GetResource().GroupResource()); r.evaluator == nil {
		return nil
	}
	// No quota that the cache has counts the object. This is the usual case, and needs no newer state.
	if after, err := r.check(quotas); err == nil && len(changed(quotas, after)) == 0 {
		return nil
	}
	lock := a.locked[maphash.String(a.seed, namespace)%locks]
	if err := lock.Acquire(ctx, 1); err != nil {
		return internalError(err)
	}
	defer lock.Release(1)
	return r.run(ctx, namespace)
}

// reservation adds what one object uses to the usage of quotas.
type reservation struct {
	*Admission
	attributes admission.Attributes
	evaluator  quotav1.Evaluator
}

// run checks all quotas, and then updates each that counts the object. Those that others have changed meanwhile are
// checked again. A quota that was updated stays so if another is exceeded then.
func (r *reservation) run(ctx context.Context, namespace string) error {
	var failed sets.Set[string] // the names of the quotas to check again
	for {
		quotas, err := r.quotas.list(ctx, namespace, dynamicstorage.Consistent)
		if err != nil {
			return internalError(err)
		}
		if failed != nil {
			quotas = slices.DeleteFunc(quotas, func(q corev1.ResourceQuota) bool { return !failed.Has(q.Name) })
		}
		after, err := r.check(quotas)
		if err != nil || r.attributes.IsDryRun() {
			return err
		}
		failed = sets.New[string]()
		for _, quota := range changed(quotas, after) {
			_, err := r.client.ResourceQuotas(namespace).UpdateStatus(ctx, quota, metav1.UpdateOptions{})
			switch {
			case apierrors.IsConflict(err), apierrors.IsNotFound(err):
				failed.Insert(quota.Name)
			case err != nil:
				return err
			}
		}
		if len(failed) == 0 {
			return nil
		}
	}
}

// check returns the quotas with the usage that they have with the object, or the error that answers the request.
func (r *reservation) check(quotas []corev1.ResourceQuota) ([]corev1.ResourceQuota, error) {
	return resourcequota.CheckRequest(quotas, r.attributes, r.evaluator, r.limited)
}

// changed returns the quotas of after whose usage differs from that in before.
func changed(before, after []corev1.ResourceQuota) (found []*corev1.ResourceQuota) {
	for n := range after {
		if !quotav1.Equals(before[n].Status.Used, after[n].Status.Used) {
			found = append(found, &after[n])
		}
	}
	return found
}

func internalError(err error) error {
	return apierrors.NewInternalError(fmt.Errorf("error resolving quota: %w", err))
}
