package check

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var definitions = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// applyDefinitions applies CRDs, and reports those that the server refuses or does not establish.
func (c *client) applyDefinitions(ctx context.Context, all []*manifest) error {
	first := map[string]*manifest{}
	for _, m := range all {
		if other, ok := first[m.GetName()]; ok {
			c.report.fail(m, fmt.Errorf("another one of this name is in %s:%d", other.File, other.Line))
			continue
		}
		first[m.GetName()] = m
		valid, err := c.try(m, func() error { return c.applyDefinition(ctx, m) })
		switch {
		case err != nil:
			return err
		case valid:
			c.report.definitions++
		default:
			c.invalid[definedKind(m)] = true
		}
	}
	return nil
}

// applyDefinition applies a CRD. Webhooks cannot be called, so objects are not converted: the server checks each object
// by the schema of its own version, and no object is read in another one.
func (c *client) applyDefinition(ctx context.Context, m *manifest) error {
	ctx, resource := withManifest(ctx, m), c.resources.Resource(definitions)
	if err := create(ctx, resource, m.Unstructured); err != nil {
		return err
	}
	unconverted := m.DeepCopy()
	unstructured.RemoveNestedField(unconverted.Object, "spec", "conversion")
	if err := apply(ctx, resource, unconverted, nil); err != nil {
		return err
	}
	applied, err := resource.Get(ctx, m.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(applied.Object, definition); err != nil {
		return err
	}
	for _, w := range wrong {
		if is := apihelpers.FindCRDCondition(definition, w.Type); is != nil && is.Status == w.Status {
			c.report.fail(m, fmt.Errorf("condition %s is %s: %s", is.Type, is.Status, is.Message))
			break // the others follow from the first
		}
	}
	return nil
}

// wrong are the conditions that say why objects cannot be created as the CRD wants. The later ones follow from the
// earlier ones.
var wrong = []apiextensionsv1.CustomResourceDefinitionCondition{
	{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionFalse},
	{Type: apiextensionsv1.NonStructuralSchema, Status: apiextensionsv1.ConditionTrue},
	{Type: apiextensionsv1.KubernetesAPIApprovalPolicyConformant, Status: apiextensionsv1.ConditionFalse},
	{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionFalse},
}

// definedKind returns the kind that a CRD defines. What the CRD leaves out is empty.
func definedKind(m *manifest) schema.GroupKind {
	group, _, _ := unstructured.NestedString(m.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(m.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}
