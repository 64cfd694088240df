package server

import (
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	client "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/access/admission"
	"github.com/crd-server/crd-server/internal/builtin/admissionregistration"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/policystatus"
)

// admissionRules are the resources whose objects make admission necessary. A policy has no effect without a binding.
var admissionRules = []schema.GroupResource{
	{Group: "admissionregistration.k8s.io", Resource: "mutatingadmissionpolicybindings"},
	{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicybindings"},
	{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"},
}

// newPolicyStatus returns the controller of the status of policies; nil if they are not served. config is for requests to
// this server.
func newPolicyStatus(s *stored, config *rest.Config) (*policystatus.Controller, error) {
	d := s.builtins.Find(validatingPolicies)
	if d == nil {
		return nil, nil
	}
	return policystatus.New(s.store.ResourceAt(d.StorageFolder()), config)
}

var validatingPolicies = schema.GroupResource{
	Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies",
}

// newParamAccess returns the check whether the writer of a policy or a binding may read its parameters. config is for
// requests to this server.
func newParamAccess(
	s *stored, a authorizer.Authorizer, config *rest.Config,
) (*admissionregistration.ParamAccess, error) {
	policies, err := client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client of policies: %w", err)
	}
	return &admissionregistration.ParamAccess{
		Authorizer: a,
		Resource:   s.resourceOf,
		Policy: func(ctx context.Context, mutating bool, name string) (*admissionregistrationv1.ParamKind, error) {
			if mutating {
				p, err := policies.MutatingAdmissionPolicies().Get(ctx, name, metav1.GetOptions{})
				return p.Spec.ParamKind, err
			}
			p, err := policies.ValidatingAdmissionPolicies().Get(ctx, name, metav1.GetOptions{})
			return p.Spec.ParamKind, err
		},
	}, nil
}

// resourceOf returns the resource of a kind that is served.
func (s *stored) resourceOf(kind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	for _, d := range s.builtins.Definitions {
		if d.GroupVersionKind() == kind {
			return d.GroupVersionResource(), nil
		}
	}
	for record := range s.table.Group(kind.Group) {
		if record.Names.Kind == kind.Kind && slices.Contains(slices.Collect(record.ServedVersions()), kind.GroupVersion()) {
			return kind.GroupVersion().WithResource(record.Names.Plural), nil
		}
	}
	return schema.GroupVersionResource{}, &meta.NoKindMatchError{
		GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version},
	}
}

// followRules tells admission which rules are stored, and when other resources are served.
func followRules(a *admission.Admission, s *stored) {
	for _, rules := range admissionRules {
		if d := s.builtins.Find(rules); d != nil {
			a.Follow(s.store.ResourceAt(d.StorageFolder()))
		}
	}
	s.table.OnChange(func(old, record *crds.Record) {
		if old == nil || record == nil || old.Established != record.Established || old.SpecHash != record.SpecHash {
			a.ResourcesChanged()
		}
	})
}
