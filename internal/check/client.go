package check

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// fieldManager is the field manager of what is applied.
const fieldManager = "crd-server-check"

// client applies manifests and reports those that the server refuses.
type client struct {
	web       *http.Client
	resources dynamic.Interface
	discovery discovery.DiscoveryInterface
	mapper    meta.RESTMapper // set by discover
	report    *report
	// namespaces exist.
	namespaces map[string]bool
	// invalid are the kinds of CRDs that have mistakes.
	invalid map[schema.GroupKind]bool
}

func newClient(config *rest.Config, r *report) (*client, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.WarningHandlerWithContext = r
	web, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("set up the client: %w", err)
	}
	resources, err := dynamic.NewForConfigAndClient(config, web)
	if err != nil {
		return nil, fmt.Errorf("set up the client: %w", err)
	}
	discovering, err := discovery.NewDiscoveryClientForConfigAndClient(config, web)
	if err != nil {
		return nil, fmt.Errorf("set up the client: %w", err)
	}
	return &client{
		web: web, resources: resources, discovery: discovering, report: r,
		namespaces: map[string]bool{}, invalid: map[schema.GroupKind]bool{},
	}, nil
}

// close closes the connections. A server that stops waits for them.
func (c *client) close() { utilnet.CloseIdleConnectionsFor(c.web.Transport) }

// discover learns the kinds that the server serves now.
func (c *client) discover() error {
	groups, err := restmapper.GetAPIGroupResources(c.discovery)
	if err != nil {
		return fmt.Errorf("discover the served kinds: %w", err)
	}
	c.mapper = restmapper.NewDiscoveryRESTMapper(groups)
	return nil
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

// refused reports a manifest if err is the server's answer to it. Other errors are returned: they are not a mistake in
// the manifest.
func (c *client) refused(m *manifest, err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return fmt.Errorf("%s:%d: %w", m.file, m.line, err)
	}
	c.report.fail(m, err)
	return nil
}
