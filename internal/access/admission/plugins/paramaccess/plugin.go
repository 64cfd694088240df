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

// authorize decides about a new object, or an update of old.
func (a *Access) authorize(ctx context.Context, obj, old runtime.Object) error {
	wanted := referenceOf(obj)
	if old != nil && equality.Semantic.DeepEqual(wanted, referenceOf(old)) {
		return nil
	}
	switch w := wanted.(type) {
	case *admissionregistrationv1.ParamKind:
		return a.forKind(ctx, w)
	case bound:
		return a.forRef(ctx, w)
	}
	return nil
}

// referenceOf returns what an object says of parameters: a kind, or what a binding binds.
func referenceOf(obj runtime.Object) any {
	switch o := obj.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		return o.Spec.ParamKind
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		return o.Spec.ParamKind
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		return bound{o.Spec.PolicyName, o.Spec.ParamRef, false}
	case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
		return bound{o.Spec.PolicyName, o.Spec.ParamRef, true}
	}
	return nil
}

var errNoUser = errors.New("no user")

// reader returns the user of a request; nil if the user may read everything.
func reader(ctx context.Context) (user.Info, error) {
	u, ok := request.UserFrom(ctx)
	switch {
	case !ok:
		return nil, errNoUser
	case slices.Contains(u.GetGroups(), user.SystemPrivilegedGroup):
		return nil, nil
	}
	return u, nil
}

const all = "*"

// forKind requires that the user may get all objects of a kind.
func (a *Access) forKind(ctx context.Context, kind *admissionregistrationv1.ParamKind) error {
	u, err := reader(ctx)
	if u == nil || kind == nil || err != nil {
		return err
	}
	attributes := authorizer.AttributesRecord{User: u, Verb: "get", ResourceRequest: true, Name: all, Namespace: all}
	_ = a.setResource(&attributes, kind) // a kind that is not served is all kinds
	decision, _, err := a.Authorizer.Authorize(ctx, attributes)
	switch {
	case err != nil:
		return fmt.Errorf("failed to authorize request: %w", err)
	case decision != authorizer.DecisionAllow:
		return fmt.Errorf(`user %v must have "get" permission on all objects of the referenced paramKind (kind=%s, `+
			`apiVersion=%s)`,
			u, kind.Kind, kind.APIVersion)
	}
	return nil
}

// setResource sets the resource of a kind; all resources of its version, or of all versions, if it is not known.
func (a *Access) setResource(to *authorizer.AttributesRecord, kind *admissionregistrationv1.ParamKind) error {
	to.APIGroup, to.APIVersion, to.Resource = all, all, all
	version, err := schema.ParseGroupVersion(kind.APIVersion)
	if err != nil {
		return err // which the validation has refused
	}
	to.APIGroup, to.APIVersion = version.Group, version.Version
	found, err := a.Resource(version.WithKind(kind.Kind))
	if err != nil {
		return fmt.Errorf("unable to resolve paramKind &{%s %s}", kind.APIVersion, kind.Kind)
	}
	to.Resource = found.Resource
	return nil
}

// bound is what a binding binds.
type bound struct {
	Policy   string
	Ref      *admissionregistrationv1.ParamRef
	Mutating bool
}

// forRef requires that the user may read the parameters of a binding.
func (a *Access) forRef(ctx context.Context, b bound) error {
	u, err := reader(ctx)
	if u == nil || b.Ref == nil || err != nil {
		return err
	}
	attributes := authorizer.AttributesRecord{
		User: u, Verb: "get", ResourceRequest: true, Name: b.Ref.Name, Namespace: b.Ref.Namespace,
		APIGroup: all, APIVersion: all, Resource: all,
	}
	if b.Ref.Name == "" {
		attributes.Verb = "list"
	}
	kind, unknown := a.Policy(ctx, b.Mutating, b.Policy)
	if unknown != nil {
		unknown = fmt.Errorf("unable to get policy %s", b.Policy)
	} else if kind != nil {
		unknown = a.setResource(&attributes, kind)
	}
	decision, _, err := a.Authorizer.Authorize(ctx, attributes)
	switch {
	case err != nil:
		return fmt.Errorf("failed to authorize request: %w", err)
	case decision == authorizer.DecisionAllow:
		return nil
	case unknown != nil:
		return fmt.Errorf(`%w to determine minimum required permissions and user %v does not have "%v" permission for all `+
			`groups, `+
			`versions and resources`, unknown, u, attributes.Verb)
	}
	return fmt.Errorf(`user %v does not have "%v" permission on the object referenced by paramRef`, u, attributes.Verb)
}
