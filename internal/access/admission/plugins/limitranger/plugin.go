// Package limitranger is the admission plugin LimitRanger: it gives pods the default requests and limits of the
// LimitRanges in their namespace, and refuses pods and claims that these do not allow.
//
// Begin at plugin.go. default.go changes pods, check.go decides.
package limitranger

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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
		{Name: Name, Resource: pods, Mutate: onCreate(mutate), Validate: onCreate(validate)},
		{Name: Name, Resource: pods, Subresource: "resize", Mutate: mutate, Validate: validate},
	}
}

// ForClaims returns the plugin for claims.
func ForClaims(ranges Ranges) resource.Plugin {
	claims := corev1.Resource("persistentvolumeclaims")
	return resource.Plugin{Name: Name, Resource: claims, Validate: ranges.each(checkClaim)}
}

// admit is a function of a plugin.
type admit = func(ctx context.Context, obj, old runtime.Object) error

// onCreate returns a function that leaves updates alone.
func onCreate(f admit) admit {
	return func(ctx context.Context, obj, old runtime.Object) error {
		if old != nil {
			return nil
		}
		return f(ctx, obj, nil)
	}
}

// each returns a function that calls f for each LimitRange of the namespace of an object, until f returns errors.
// Objects that are being deleted are left alone.
func (r Ranges) each(f func(limits *corev1.LimitRangeSpec, obj runtime.Object) []error) admit {
	return func(ctx context.Context, obj, old runtime.Object) error {
		if old != nil {
			before, err := meta.Accessor(old)
			if err != nil || before.GetDeletionTimestamp() != nil {
				return err
			}
		}
		m, err := meta.Accessor(obj)
		if err != nil {
			return err
		}
		ranges, err := r(ctx, m.GetNamespace())
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
