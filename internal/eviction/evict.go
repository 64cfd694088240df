package eviction

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"
	policy "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/pods"
	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Evictor evicts pods.
type Evictor struct {
	budgets policy.PodDisruptionBudgetsGetter
}

// New returns an Evictor. config is for requests to this server.
func New(config *rest.Config) *Evictor { return &Evictor{budgets: policy.NewForConfigOrDie(config)} }

// eviction is one eviction of a pod.
type eviction struct {
	*Evictor
	request resource.ActionRequest
	options *metav1.DeleteOptions
	dryRun  bool
	// pod is the pod as it was read last.
	pod *corev1.Pod
}

// retries is how often, and after what pause, an eviction is tried again after a conflict, as in kube-apiserver.
var retries = wait.Backoff{Steps: 20, Duration: 500 * time.Millisecond, Factor: 1, Jitter: 0.1}

// Evict deletes the pod that an Eviction names, or says which budget forbids it.
func (e *Evictor) Evict(ctx context.Context, r resource.ActionRequest) (runtime.Object, error) {
	body := r.Body.(*policyv1.Eviction)
	if body.Name != r.Name {
		return nil, apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	options, err := optionsOf(body, r.Options)
	if err != nil {
		return nil, err
	}
	if err := r.Admit(ctx, body); err != nil {
		return nil, err
	}
	v := &eviction{Evictor: e, request: r, options: options, dryRun: len(options.DryRun) > 0}
	return v.run(ctx)
}

// optionsOf returns the options of the deletion. Those of the request and of the body must agree about a dry run.
func optionsOf(body *policyv1.Eviction, request *metav1.CreateOptions) (*metav1.DeleteOptions, error) {
	options := &metav1.DeleteOptions{}
	if body.DeleteOptions != nil {
		options = body.DeleteOptions.DeepCopy()
	}
	if ptr.Deref(options.IgnoreStoreReadErrorWithClusterBreakingPotential, false) {
		path := field.NewPath("deleteOptions", "ignoreStoreReadErrorWithClusterBreakingPotential")
		kind := policyv1.SchemeGroupVersion.WithKind("Eviction").GroupKind()
		return nil, apierrors.NewInvalid(kind, body.Name, field.ErrorList{
			field.Invalid(path, true, "can not be set for pod eviction, try after removing the option"),
		})
	}
	switch {
	case len(options.DryRun) == 0:
		options.DryRun = request.DryRun
	case len(request.DryRun) > 0 && !slices.Equal(request.DryRun, options.DryRun):
		//lint:ignore ST1005 the message is kube-apiserver's
		return nil, fmt.Errorf("Non-matching dry-run options in request and content: %v and %v",
			request.DryRun, options.DryRun)
	}
	return options, nil
}

func (v *eviction) run(ctx context.Context) (runtime.Object, error) {
	success := &metav1.Status{Status: metav1.StatusSuccess}
	done, err := v.evictUnbudgeted(ctx)
	if err != nil {
		return nil, err
	}
	if done {
		return success, nil
	}
	budgets, err := v.find(ctx)
	if err != nil {
		return nil, err
	}
	if len(budgets) > 1 {
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
		}}
	}
	options := v.options
	if len(budgets) == 1 {
		unhealthy, err := v.permit(ctx, &budgets[0])
		if err != nil {
			return nil, err
		}
		if unhealthy { // the deletion fails if it has become healthy meanwhile
			options = atVersion(options, v.pod)
		}
	}
	err = v.remove(ctx, options)
	if err != nil && apierrors.IsConflict(err) && options != v.options && !namesVersion(v.options) {
		return nil, stillProcessed(budgets[0].Name)
	}
	if err != nil {
		return nil, err
	}
	return success, nil
}

// evictUnbudgeted deletes a pod that does not run, or that is already being deleted: budgets do not count it. It
// reports whether the pod is one of these.
func (v *eviction) evictUnbudgeted(ctx context.Context) (done bool, err error) {
	retriable := func(err error) bool { return apierrors.IsConflict(err) && !namesVersion(v.options) }
	err = retry.OnError(retries, retriable, func() error {
		if err := v.read(ctx); err != nil {
			return err
		}
		phase, deleting := v.pod.Status.Phase, v.pod.DeletionTimestamp != nil
		ended := phase == corev1.PodSucceeded || phase == corev1.PodFailed
		if !ended && phase != corev1.PodPending && !deleting {
			return nil
		}
		options := v.options
		if !ended && !deleting && !namesVersion(options) {
			options = atVersion(options, v.pod)
		}
		done = true
		return v.remove(ctx, options)
	})
	return done, err
}

// read reads the pod.
func (v *eviction) read(ctx context.Context) error {
	obj, err := v.request.Object.Read(ctx)
	if err != nil {
		return err
	}
	v.pod = obj.(*corev1.Pod)
	return nil
}

func namesVersion(options *metav1.DeleteOptions) bool {
	return options.Preconditions != nil && options.Preconditions.ResourceVersion != nil
}

// atVersion returns options that delete the pod only at its present resourceVersion.
func atVersion(options *metav1.DeleteOptions, pod *corev1.Pod) *metav1.DeleteOptions {
	exact := options.DeepCopy()
	if exact.Preconditions == nil {
		exact.Preconditions = &metav1.Preconditions{}
	}
	exact.Preconditions.ResourceVersion = &pod.ResourceVersion
	return exact
}

// podKind is how conflicts name pods.
var podKind = schema.GroupResource{Resource: "Pod"}

// remove says in a condition why the pod ends, and deletes it.
func (v *eviction) remove(ctx context.Context, options *metav1.DeleteOptions) error {
	if v.dryRun {
		return v.request.Object.Delete(ctx, options)
	}
	version, err := v.request.Object.Update(ctx, false, func(obj runtime.Object) error {
		pod := obj.(*corev1.Pod)
		if err := checkPreconditions(options.Preconditions, pod); err != nil {
			return err
		}
		pods.SetCondition(&pod.Status, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
			Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting",
		})
		return nil
	})
	if err != nil {
		return err
	}
	if namesVersion(options) { // the condition has changed it
		options = options.DeepCopy()
		options.Preconditions.ResourceVersion = &version
	}
	return v.request.Object.Delete(ctx, options)
}

func checkPreconditions(p *metav1.Preconditions, pod *corev1.Pod) error {
	const format = "the %[1]s in the precondition (%[2]s) does not match the %[1]s in record (%[3]s). " +
		"The object might have been %[4]s"
	switch {
	case p == nil:
	case p.UID != nil && *p.UID != "" && *p.UID != pod.UID:
		return apierrors.NewConflict(podKind, pod.Name,
			fmt.Errorf(format, "UID", *p.UID, pod.UID, "deleted and then recreated"))
	case p.ResourceVersion != nil && *p.ResourceVersion != "" && *p.ResourceVersion != pod.ResourceVersion:
		return apierrors.NewConflict(podKind, pod.Name,
			fmt.Errorf(format, "ResourceVersion", *p.ResourceVersion, pod.ResourceVersion, "modified"))
	}
	return nil
}
