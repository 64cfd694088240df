package builtins

import (
	"context"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	client "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"

	"github.com/crd-server/crd-server/internal/access/admission/plugins/paramaccess"
)

// newParamAccess returns the check whether the writer of a policy or a binding may read its parameters.
func newParamAccess(c *Config) *paramaccess.Access {
	policies := client.NewForConfigOrDie(c.Client) // a configuration without files is never wrong
	return &paramaccess.Access{
		Authorizer: c.Authorizer,
		Resource:   c.resourceOf,
		Policy: func(ctx context.Context, mutating bool, name string) (*admissionregistrationv1.ParamKind, error) {
			if mutating {
				p, err := policies.MutatingAdmissionPolicies().Get(ctx, name, metav1.GetOptions{})
				return p.Spec.ParamKind, err
			}
			p, err := policies.ValidatingAdmissionPolicies().Get(ctx, name, metav1.GetOptions{})
			return p.Spec.ParamKind, err
		},
	}
}

// resourceOf returns the resource of a kind that is served.
func (c *Config) resourceOf(kind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	for _, d := range c.Set.Definitions {
		if d.GroupVersionKind() == kind {
			return d.GroupVersionResource(), nil
		}
	}
	for record := range c.Table.Group(kind.Group) {
		if record.Names.Kind == kind.Kind && slices.Contains(slices.Collect(record.ServedVersions()), kind.GroupVersion()) {
			return kind.GroupVersion().WithResource(record.Names.Plural), nil
		}
	}
	return schema.GroupVersionResource{}, &meta.NoKindMatchError{
		GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version},
	}
}
