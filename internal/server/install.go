package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
)

const (
	// fieldManager owns, in managedFields, what --crds has applied.
	fieldManager = "crd-server"
	// installers is how many CRDs are applied at a time.
	installers = 8
)

var definitionsResource = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// install applies the manifests through the handler, as a client would by server-side apply. All are tried without effect
// first, so that a file which the server refuses changes nothing; only what would change is then applied.
func install(ctx context.Context, handler http.Handler, manifests []manifest) error {
	if len(manifests) == 0 {
		return nil
	}
	transport := inProcess{handler}
	// Answers with the metadata only: to decode whole CRDs would be for nothing.
	client, err := metadata.NewForConfigAndClient(transport.clientConfig(), &http.Client{Transport: transport})
	if err != nil {
		return fmt.Errorf("set up the client for --crds: %w", err)
	}
	i := &installer{resource: client.Resource(definitionsResource)}
	changes := make([]bool, len(manifests))
	err = forEach(ctx, manifests, func(ctx context.Context, n int) (err error) {
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

// forEach does a few manifests at a time, until one fails.
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
type installer struct{ resource metadata.Getter }

// wouldChange tries a manifest without effect. Every change shows in the metadata: that of a spec in the generation.
func (i *installer) wouldChange(ctx context.Context, m manifest) (bool, error) {
	before, err := i.resource.Get(ctx, m.name, metav1.GetOptions{})
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

func (i *installer) apply(ctx context.Context, m manifest, dryRun []string) (*metav1.PartialObjectMetadata, error) {
	force := true
	return i.resource.Patch(ctx, m.name, types.ApplyPatchType, m.json,
		metav1.PatchOptions{FieldManager: fieldManager, Force: &force, DryRun: dryRun})
}
