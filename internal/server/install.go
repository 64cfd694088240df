package server

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

const (
	// fieldManager is the field manager of what --crds applies.
	fieldManager = "crd-server"
	// installers is how many CRDs are applied at the same time.
	installers = 8
)

var definitionsResource = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// install applies the manifests by server-side apply, as a client does. A dry run of all comes first, so that nothing
// changes if the server refuses one of them. Then only manifests that make a change are applied.
func install(ctx context.Context, own *rest.Config, manifests []manifest) error {
	if len(manifests) == 0 {
		return nil
	}
	// A metadata client does not decode whole CRDs.
	i := installer{metadata.NewForConfigOrDie(own).Resource(definitionsResource)}
	changes := make([]bool, len(manifests))
	err := forEach(ctx, manifests, func(ctx context.Context, n int) (err error) {
		changes[n], err = i.wouldChange(ctx, manifests[n])
		return err
	})
	if err != nil {
		return err
	}
	return forEach(ctx, manifests, func(ctx context.Context, n int) error {
		if !changes[n] {
			return nil
		}
		_, err := i.apply(ctx, manifests[n], nil)
		return err
	})
}

// forEach calls do for several manifests at the same time, until one fails.
func forEach(ctx context.Context, manifests []manifest, do func(ctx context.Context, n int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(installers)
	for n, m := range manifests {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			err := do(ctx, n)
			var status *apierrors.StatusError
			switch {
			case errors.As(err, &status):
				return m.errorf("%s", status.ErrStatus.Message)
			case err != nil:
				return m.errorf("%w", err)
			}
			return nil
		})
	}
	return group.Wait()
}

// installer applies manifests to the resource of CustomResourceDefinitions.
type installer struct{ metadata.Getter }

// wouldChange applies a manifest in a dry run. Every change shows in the metadata: a changed spec increments the
// generation.
func (i installer) wouldChange(ctx context.Context, m manifest) (bool, error) {
	before, err := i.Get(ctx, m.name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	isNew := err != nil
	after, err := i.apply(ctx, m, []string{metav1.DryRunAll})
	if err != nil {
		return false, err
	}
	return isNew || !equality.Semantic.DeepEqual(before.ObjectMeta, after.ObjectMeta), nil
}

// apply applies a manifest.
func (i installer) apply(ctx context.Context, m manifest, dryRun []string) (*metav1.PartialObjectMetadata, error) {
	force := true
	return i.Patch(ctx, m.name, types.ApplyPatchType, m.json,
		metav1.PatchOptions{FieldManager: fieldManager, Force: &force, DryRun: dryRun})
}
