package eviction

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	pdbhelper "k8s.io/component-helpers/apps/poddisruptionbudget"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/pods"
)

// find returns the budgets that select the pod.
func (v *eviction) find(ctx context.Context) (found []policyv1.PodDisruptionBudget, err error) {
	list, err := v.budgets.PodDisruptionBudgets(v.pod.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, budget := range list.Items {
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(v.pod.Labels)) {
			found = append(found, budget)
		}
	}
	return found, nil
}

// permit counts the eviction in a budget, or returns why the budget forbids it. unhealthy means that the budget does
// not count the pod, because it is not ready.
func (v *eviction) permit(ctx context.Context, budget *policyv1.PodDisruptionBudget) (unhealthy bool, err error) {
	if !pods.IsTrue(&v.pod.Status, corev1.PodReady) {
		always := ptr.Deref(budget.Spec.UnhealthyPodEvictionPolicy, policyv1.IfHealthyBudget) == policyv1.AlwaysAllow
		enough := budget.Status.CurrentHealthy >= budget.Status.DesiredHealthy && budget.Status.DesiredHealthy > 0
		if always || enough {
			return true, nil
		}
	}
	again := false
	err = retry.RetryOnConflict(retries, func() error {
		if again {
			budget, err = v.budgets.PodDisruptionBudgets(budget.Namespace).Get(ctx, budget.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
		}
		again = true
		return v.count(ctx, budget.DeepCopy())
	})
	if wait.Interrupted(err) {
		const retryAfterSeconds = 10
		err = apierrors.NewTimeoutError(
			fmt.Sprintf("couldn't update PodDisruptionBudget %q due to conflicts", budget.Name), retryAfterSeconds)
	}
	return false, err
}

// maxDisrupted bounds the evictions that the controller of budgets has not seen yet.
const maxDisrupted = 2000

// count takes one of the disruptions that a budget allows.
func (v *eviction) count(ctx context.Context, budget *policyv1.PodDisruptionBudget) error {
	status := &budget.Status
	switch {
	case status.ObservedGeneration < budget.Generation:
		return stillProcessed(budget.Name)
	case status.DisruptionsAllowed < 0:
		return forbidden(budget.Name, "pdb disruptions allowed is negative", "pdb disruptions allowed is negative")
	case len(status.DisruptedPods) > maxDisrupted:
		return forbidden(budget.Name, "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
			"too many pending evictions not confirmed by PDB controller")
	case status.DisruptionsAllowed == 0:
		return exhausted(budget)
	}
	status.DisruptionsAllowed--
	if status.DisruptionsAllowed == 0 {
		pdbhelper.UpdateDisruptionAllowedCondition(budget)
	}
	if v.dryRun {
		return nil
	}
	if status.DisruptedPods == nil {
		status.DisruptedPods = map[string]metav1.Time{}
	}
	status.DisruptedPods[v.pod.Name] = metav1.Now()
	_, err := v.budgets.PodDisruptionBudgets(budget.Namespace).UpdateStatus(ctx, budget, metav1.UpdateOptions{})
	return err
}

const violates = "Cannot evict pod as it would violate the pod's disruption budget."

// stillProcessed returns the error of an eviction whose budget is not up to date.
func stillProcessed(budget string) error {
	const retryAfterSeconds = 10
	return withCause(apierrors.NewTooManyRequests(violates, retryAfterSeconds),
		fmt.Sprintf("The disruption budget %s is still being processed by the server.", budget))
}

func forbidden(budget, reason, cause string) error {
	resource := policyv1.Resource("poddisruptionbudget")
	return withCause(apierrors.NewForbidden(resource, budget, errors.New(reason)),
		fmt.Sprintf("The disruption budget %s does not allow evicting pods currently: %s", budget, cause))
}

// exhausted returns the error of an eviction whose budget allows no more disruptions.
func exhausted(budget *policyv1.PodDisruptionBudget) error {
	status := &budget.Status
	condition := meta.FindStatusCondition(status.Conditions, policyv1.DisruptionAllowedCondition)
	explained := condition != nil && condition.Status == metav1.ConditionFalse && condition.Message != ""
	text := fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", budget.Name)
	switch {
	case explained && condition.Reason == policyv1.SyncFailedReason:
		text += " because it failed sync: " + condition.Message
	case status.CurrentHealthy <= status.DesiredHealthy:
		text = fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently",
			budget.Name, status.DesiredHealthy, status.CurrentHealthy)
	case explained:
		text += fmt.Sprintf(" (%s): %s", condition.Reason, condition.Message)
	}
	return withCause(apierrors.NewTooManyRequests(violates, 0), text)
}

// withCause adds the cause that tells clients that a budget is the reason.
func withCause(err *apierrors.StatusError, text string) error {
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: policyv1.DisruptionBudgetCause, Message: text,
	})
	return err
}
