package check

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// fieldManager is the field manager of what is applied.
const fieldManager = "crd-server-check"

// client applies manifests and reports those that the server refuses.
type client struct {
	resources dynamic.Interface
	// mapper knows the kinds that the server serves when it is used first.
	mapper meta.RESTMapper
	report *report
	// namespaces exist.
	namespaces map[string]bool
	// invalid are the kinds of CRDs that have mistakes.
	invalid map[schema.GroupKind]bool
}

// newClient returns a client of the server. Its configuration is that of the server itself, so it is never wrong.
func newClient(config *rest.Config, r *report) *client {
	config.WarningHandlerWithContext = r
	kinds := memory.NewMemCacheClient(discovery.NewDiscoveryClientForConfigOrDie(config))
	return &client{
		resources: dynamic.NewForConfigOrDie(config), mapper: restmapper.NewDeferredDiscoveryRESTMapper(kinds),
		report: r, namespaces: map[string]bool{}, invalid: map[schema.GroupKind]bool{},
	}
}

// create creates the object in a dry run, with the errors of kubectl create.
func create(ctx context.Context, resource dynamic.ResourceInterface, u *unstructured.Unstructured) error {
	_, err := resource.Create(ctx, u, metav1.CreateOptions{
		DryRun: []string{metav1.DryRunAll}, FieldManager: fieldManager, FieldValidation: metav1.FieldValidationStrict,
	})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// apply applies the object by server-side apply. dryRun is nil or metav1.DryRunAll.
func apply(
	ctx context.Context, resource dynamic.ResourceInterface, u *unstructured.Unstructured, dryRun []string,
) error {
	content, err := u.MarshalJSON()
	if err != nil {
		return err
	}
	force := true
	_, err = resource.Patch(ctx, u.GetName(), types.ApplyPatchType, content, metav1.PatchOptions{
		DryRun: dryRun, Force: &force, FieldManager: fieldManager, FieldValidation: metav1.FieldValidationStrict,
	})
	return err
}

// try reports whether the server takes a manifest. Answers of the server are mistakes in the manifest; other errors are
// returned.
func (c *client) try(m *manifest, request func() error) (valid bool, err error) {
	failed := c.report.failed
	err = request()
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		c.report.fail(m, err)
	case err != nil:
		return false, fmt.Errorf("%s:%d: %w", m.File, m.Line, err)
	}
	return c.report.failed == failed, nil
}
