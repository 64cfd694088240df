package server

import (
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	client "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/internal/access/admission"
	"github.com/crd-server/crd-server/internal/builtin/admissionregistration"
	"github.com/crd-server/crd-server/internal/builtin/certificates"
	"github.com/crd-server/crd-server/internal/builtin/devices"
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

// addChecks makes writes of built-in resources ask what else their users may do, and adds the admission plugins. config
// is for requests to this server.
func addChecks(o *admission.Options, s *stored, a authorizer.Authorizer, config *rest.Config) error {
	if err := requireParamAccess(s, a, config); err != nil {
		return err
	}
	certificates.Signers{Authorizer: a}.Require(s.builtins.Definitions)
	requireDeviceAccess(s, a)
	return addPlugins(o, s)
}

// requireDeviceAccess makes writes of claims for devices ask what the user may do of them, if claims are served.
func requireDeviceAccess(s *stored, a authorizer.Authorizer) {
	if s.builtins.Find(resourcev1.Resource("resourceclaims")) != nil {
		devices.Access{Authorizer: a, Namespace: namespaceGetter(s)}.Require(s.builtins.Definitions)
	}
}

var validatingPolicies = schema.GroupResource{
	Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies",
}

// requireParamAccess makes writes of policies and bindings ask whether the user may read their parameters. config is for
// requests to this server.
func requireParamAccess(s *stored, a authorizer.Authorizer, config *rest.Config) error {
	policies, err := client.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client of policies: %w", err)
	}
	access := &admissionregistration.ParamAccess{
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
	}
	access.Require(s.builtins.Definitions)
	return nil
}

// resourceOf returns the resource of a kind that is served.
func (s *stored) resourceOf(kind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	for _, d := range s.builtins.Definitions {
		if d.GroupVersionKind() == kind {
			return d.GroupVersionResource(), nil
		}
	}
	for record := range s.table.Group(kind.Group) {
		if record.Names.Kind == kind.Kind && slices.Contains(slices.Collect(servedBy(record)), kind.GroupVersion()) {
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
