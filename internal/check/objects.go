package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

var namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")

// tryObjects reports the objects that the server refuses.
func (c *client) tryObjects(ctx context.Context, objects []*manifest) error {
	for _, m := range objects {
		if c.invalid[m.groupKind()] {
			c.report.unchecked++
			continue
		}
		mapping, err := c.mapper.RESTMapping(m.groupKind(), m.GroupVersionKind().Version)
		if meta.IsNoMatchError(err) {
			c.report.fail(m, c.withServedVersions(m, err))
			continue
		}
		if err != nil {
			return err
		}
		valid, err := c.try(m, func() error { return c.tryObject(ctx, m, mapping) })
		if err != nil {
			return err
		}
		if valid {
			c.report.objects++
		}
	}
	return nil
}

// tryObject creates and applies an object in dry runs, in a namespace that is created if it is missing. So no object
// depends on another one: samples of several versions often have the same name.
func (c *client) tryObject(ctx context.Context, m *manifest, mapping *meta.RESTMapping) error {
	ctx = withManifest(ctx, m)
	var resource dynamic.ResourceInterface = c.resources.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace := m.GetNamespace()
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		if err := c.ensureNamespace(ctx, namespace); err != nil {
			return err
		}
		resource = c.resources.Resource(mapping.Resource).Namespace(namespace)
	}
	if err := create(ctx, resource, m.Unstructured); err != nil {
		return err
	}
	if m.GetName() == "" {
		return nil // an object whose name the server generates can only be created
	}
	return apply(ctx, resource, m.Unstructured, []string{metav1.DryRunAll})
}

func (c *client) ensureNamespace(ctx context.Context, name string) error {
	if c.namespaces[name] {
		return nil
	}
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName(name)
	_, err := c.resources.Resource(namespaces).Create(ctx, namespace, metav1.CreateOptions{FieldManager: fieldManager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	c.namespaces[name] = true
	return nil
}

// withServedVersions adds the served versions of a kind to the error about a version that is not served.
func (c *client) withServedVersions(m *manifest, err error) error {
	mappings, _ := c.mapper.RESTMappings(m.groupKind()) // without a mapping, there are no versions
	var versions []string
	for _, mapping := range mappings {
		versions = append(versions, mapping.GroupVersionKind.Version)
	}
	if len(versions) == 0 {
		return fmt.Errorf("%w; no CRD defines it", err)
	}
	slices.Sort(versions)
	return fmt.Errorf("%w; served versions: %s", err, strings.Join(versions, ", "))
}
