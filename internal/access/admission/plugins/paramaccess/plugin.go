// Package paramaccess decides whether users may refer to the parameters of policies. It is a part of the registry in
// kube-apiserver.
package paramaccess

import (
	"context"
	"errors"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Access decides whether a user may refer to parameters. Policies read them with the rights of the server, and
// their messages could tell the content to a user who cannot read them.
type Access struct {
	Authorizer authorizer.Authorizer
	// Resource returns the resource of a kind, or an error if none is served.
	Resource func(kind schema.GroupVersionKind) (schema.GroupVersionResource, error)
	// Policy returns the kind of parameters of a stored policy, a mutating or a validating one.
	Policy func(ctx context.Context, mutating bool, name string) (*admissionregistrationv1.ParamKind, error)
}

// Plugins returns the plugins for policies and bindings.
func (a *Access) Plugins() []resource.Plugin {
	kind, ref := field.NewPath("spec", "paramKind"), field.NewPath("spec", "paramRef")
	return []resource.Plugin{
		a.plugin("validatingadmissionpolicies", kind), a.plugin("mutatingadmissionpolicies", kind),
		a.plugin("validatingadmissionpolicybindings", ref), a.plugin("mutatingadmissionpolicybindings", ref),
	}
}

// plugin returns the plugin for a resource whose objects refer to parameters by a field. It asks about valid objects.
func (a *Access) plugin(plural string, params *field.Path) resource.Plugin {
	check := func(ctx context.Context, obj, old runtime.Object, errs field.ErrorList) field.ErrorList {
		if len(errs) > 0 {
			return errs
		}
		if err := a.authorize(ctx, obj, old); err != nil {
			return field.ErrorList{field.Forbidden(params, err.Error())}
		}
		return nil
	}
	return resource.Plugin{Resource: admissionregistrationv1.Resource(plural), Check: check}
}

// reference is what an object says of parameters: their kind in a policy, and which of them in a binding of a policy.
type reference struct {
	Kind     *admissionregistrationv1.ParamKind
	Ref      *admissionregistrationv1.ParamRef
	Policy   string
	Mutating bool
}

func referenceOf(obj runtime.Object) reference {
	switch o := obj.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		return reference{Kind: o.Spec.ParamKind}
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		return reference{Kind: o.Spec.ParamKind}
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		return reference{Ref: o.Spec.ParamRef, Policy: o.Spec.PolicyName}
	case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
		return reference{Ref: o.Spec.ParamRef, Policy: o.Spec.PolicyName, Mutating: true}
	}
	return reference{}
}

const all = "*"

// authorize decides about a new object, or an update of old. The user must be able to get all objects of the kind of a
// policy, and to read the parameters of a binding. Members of system:masters may read everything.
func (a *Access) authorize(ctx context.Context, obj, old runtime.Object) error {
	wanted := referenceOf(obj)
	if wanted.Kind == nil && wanted.Ref == nil || old != nil && equality.Semantic.DeepEqual(wanted, referenceOf(old)) {
		return nil
	}
	u, ok := request.UserFrom(ctx)
	if !ok {
		return errors.New("no user")
	}
	if slices.Contains(u.GetGroups(), user.SystemPrivilegedGroup) {
		return nil
	}
	asked := authorizer.AttributesRecord{
		User: u, Verb: "get", Name: all, Namespace: all, APIGroup: all, APIVersion: all, Resource: all,
		ResourceRequest: true,
	}
	unknown := a.describe(ctx, &wanted, &asked)
	decision, _, err := a.Authorizer.Authorize(ctx, asked)
	switch {
	case err != nil:
		return fmt.Errorf("failed to authorize request: %w", err)
	case decision == authorizer.DecisionAllow:
		return nil
	case wanted.Kind != nil: // one that is not served is all kinds
		return fmt.Errorf(`user %v must have "get" permission on all objects of the referenced paramKind (kind=%s, `+
			`apiVersion=%s)`, u, wanted.Kind.Kind, wanted.Kind.APIVersion)
	case unknown != nil:
		return fmt.Errorf(`%w to determine minimum required permissions and user %v does not have "%v" permission for all `+
			`groups, versions and resources`, unknown, u, asked.Verb)
	}
	return fmt.Errorf(`user %v does not have "%v" permission on the object referenced by paramRef`, u, asked.Verb)
}

// describe sets what the authorizer is asked about: objects of a kind, or of all kinds if it returns an error.
func (a *Access) describe(ctx context.Context, r *reference, asked *authorizer.AttributesRecord) (err error) {
	kind := r.Kind
	if ref := r.Ref; ref != nil {
		asked.Name, asked.Namespace = ref.Name, ref.Namespace
		if ref.Name == "" {
			asked.Verb = "list"
		}
		if kind, err = a.Policy(ctx, r.Mutating, r.Policy); err != nil {
			return fmt.Errorf("unable to get policy %s", r.Policy)
		}
	}
	if kind == nil {
		return nil
	}
	version, err := schema.ParseGroupVersion(kind.APIVersion)
	if err != nil {
		return err // which the validation has refused
	}
	asked.APIGroup, asked.APIVersion = version.Group, version.Version
	found, err := a.Resource(version.WithKind(kind.Kind))
	if err != nil {
		return fmt.Errorf("unable to resolve paramKind &{%s %s}", kind.APIVersion, kind.Kind)
	}
	asked.Resource = found.Resource
	return nil
}
