package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
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
// first, so that a file which the server refuses changes nothing.
func install(ctx context.Context, handler http.Handler, manifests []manifest) error {
	if len(manifests) == 0 {
		return nil
	}
	transport := inProcess{handler}
	client, err := dynamic.NewForConfigAndClient(transport.clientConfig(), &http.Client{Transport: transport})
	if err != nil {
		return fmt.Errorf("set up the client for --crds: %w", err)
	}
	resource := client.Resource(definitionsResource)
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true, DryRun: []string{metav1.DryRunAll}}
	if err := applyAll(ctx, resource, manifests, options); err != nil {
		return err
	}
	options.DryRun = nil
	return applyAll(ctx, resource, manifests, options)
}

func applyAll(ctx context.Context, resource dynamic.ResourceInterface, manifests []manifest, options metav1.ApplyOptions) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(installers)
	for _, m := range manifests {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			_, err := resource.Apply(ctx, m.object.GetName(), m.object, options)
			var status *apierrors.StatusError
			if errors.As(err, &status) {
				return m.errorf("%s", status.ErrStatus.Message)
			}
			if err != nil {
				return m.errorf("%w", err)
			}
			return nil
		})
	}
	return group.Wait()
}
