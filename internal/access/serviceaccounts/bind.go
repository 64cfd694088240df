package serviceaccounts

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/features"
)

// bind returns claims with the objects that a request wants the token to be bound to.
func (i *Issuer) bind(ctx context.Context, r Request) (c boundClaims, err error) {
	ref := r.TokenRequest.Spec.BoundObjectRef
	if ref == nil {
		return c, nil
	}
	bound, err := i.find(ctx, r.Namespace, ref)
	if err != nil {
		return c, err
	}
	switch ref.Kind {
	case "Secret":
		c.Secret = referenceTo(bound)
	case "Node":
		c.Node = referenceTo(bound)
	case "Pod":
		c.Pod = referenceTo(bound)
		if serviceAccountOf(bound) != r.Name {
			return c, apierrors.NewBadRequest(fmt.Sprintf(
				"cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", r.Name))
		}
		if c.Node, err = i.nodeOf(ctx, bound); err != nil {
			return c, err
		}
	}
	if ref.UID != "" && ref.UID != bound.GetUID() {
		gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		return c, apierrors.NewConflict(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, ref.Name,
			fmt.Errorf(
				"the UID in the bound object reference (%s) does not match the UID in record. "+
					"The object might have been deleted and then recreated", ref.UID))
	}
	return c, nil
}

// find returns the object of a reference.
func (i *Issuer) find(
	ctx context.Context, namespace string, ref *authenticationv1.BoundObjectReference,
) (metav1.Object, error) {
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	switch {
	case gvk.Group == "" && gvk.Kind == "Pod":
		return i.objects.Get(ctx, ObjectRef{"pods", namespace, ref.Name}, true)
	case gvk.Group == "" && gvk.Kind == "Node":
		return i.objects.Get(ctx, ObjectRef{"nodes", "", ref.Name}, true)
	case gvk.Group == "" && gvk.Kind == "Secret":
		return i.objects.Get(ctx, ObjectRef{"secrets", namespace, ref.Name}, true)
	case isWebhook(ref):
		// Webhooks of this server get no tokens: the feature is alpha in kube-apiserver, and off.
		return nil, apierrors.NewBadRequest(fmt.Sprintf(
			"cannot bind token to object of type %s (feature gate %s is disabled)",
			gvk.String(), features.APIServerWebhookAuthenticationToken))
	}
	return nil, apierrors.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s", gvk.String()))
}

// nodeOf returns the node of a pod. If that does not exist, the token has its name without a UID, as upstream.
func (i *Issuer) nodeOf(ctx context.Context, pod metav1.Object) (*reference, error) {
	typed, ok := pod.(*corev1.Pod)
	if !ok || typed.Spec.NodeName == "" {
		return nil, nil
	}
	node, err := i.objects.Get(ctx, ObjectRef{"nodes", "", typed.Spec.NodeName}, true)
	if apierrors.IsNotFound(err) {
		return &reference{Name: typed.Spec.NodeName}, nil
	}
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return referenceTo(node), nil
}
