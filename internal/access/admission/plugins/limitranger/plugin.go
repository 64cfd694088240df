// Package limitranger is the admission plugin LimitRanger: it gives pods the default requests and limits of the
// LimitRanges in their namespace, and refuses pods and claims that these do not allow.
//
// Begin at plugin.go. default.go changes pods, check.go decides.
package limitranger

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Name is the name of the plugin.
const Name = "LimitRanger"

// Ranges returns the LimitRanges of a namespace.
type Ranges func(ctx context.Context, namespace string) ([]*corev1.LimitRange, error)

// ForPods returns the plugins for new pods, and for changes of the resources of pods.
func ForPods(ranges Ranges) []resource.Plugin {
	mutate, validate := ranges.each(addDefaults), ranges.each(checkPod)
	pods := corev1.Resource("pods")
	return []resource.Plugin{
		{Name: Name, Resource: pods, Mutate: resource.OnCreate(mutate), Validate: resource.OnCreate(validate)},
		{
			Name: Name, Resource: pods, Subresource: "resize",
			Mutate: unlessDeleted(mutate), Validate: unlessDeleted(validate),
		},
	}
}

// ForClaims returns the plugin for claims.
func ForClaims(ranges Ranges) resource.Plugin {
	claims := corev1.Resource("persistentvolumeclaims")
	return resource.Plugin{Name: Name, Resource: claims, Validate: unlessDeleted(ranges.each(checkClaim))}
}

// admit decides about an object, or changes it.
type admit = func(ctx context.Context, obj runtime.Object) error

// unlessDeleted returns a function of a plugin. It leaves updates of objects that are being deleted alone.
func unlessDeleted(f admit) func(ctx context.Context, obj, old runtime.Object) error {
	return func(ctx context.Context, obj, old runtime.Object) error {
		if old != nil && old.(metav1.Object).GetDeletionTimestamp() != nil {
			return nil
		}
		return f(ctx, obj)
	}
}

// each returns a function that calls f for each LimitRange of the namespace of an object, until f returns errors.
func (r Ranges) each(f func(limits *corev1.LimitRangeSpec, obj runtime.Object) []error) admit {
	return func(ctx context.Context, obj runtime.Object) error {
		ranges, err := r(ctx, obj.(metav1.Object).GetNamespace())
		if err != nil {
			return fmt.Errorf("read limit ranges: %w", err)
		}
		for _, found := range ranges {
			if err := utilerrors.NewAggregate(f(&found.Spec, obj)); err != nil {
				return err
			}
		}
		return nil
	}
}
