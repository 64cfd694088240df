package admissionregistration

import (
	"context"
	"errors"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// ParamAccess decides whether a user may refer to parameters. Policies read them with the rights of the server, and
// their messages could tell the content to a user who cannot read them.
type ParamAccess struct {
	Authorizer authorizer.Authorizer
	// Resource returns the resource of a kind, or an error if none is served.
	Resource func(kind schema.GroupVersionKind) (schema.GroupVersionResource, error)
	// Policy returns the kind of parameters of a stored policy, a mutating or a validating one.
	Policy func(ctx context.Context, mutating bool, name string) (*admissionregistrationv1.ParamKind, error)
}

// Require makes the definitions of policies and bindings among some definitions ask a for access to parameters.
func (a *ParamAccess) Require(definitions []*resource.Definition) {
	for _, d := range definitions {
		switch r := d.Strategy.(type) {
		case rules:
			if r.params != nil {
				r.authorize = a.authorize
				d.Strategy = r
			}
		case validatingPolicyRules:
			r.authorize = a.authorize
			d.Strategy = r
		}
	}
}

// authorize decides about a new object, or an update of old.
func (a *ParamAccess) authorize(ctx context.Context, obj, old runtime.Object) error {
	switch o := obj.(type) {
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		before, _ := old.(*admissionregistrationv1.ValidatingAdmissionPolicy)
		if before != nil && equality.Semantic.DeepEqual(before.Spec.ParamKind, o.Spec.ParamKind) {
			return nil
		}
		return a.forKind(ctx, o.Spec.ParamKind)
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		before, _ := old.(*admissionregistrationv1.MutatingAdmissionPolicy)
		if before != nil && equality.Semantic.DeepEqual(before.Spec.ParamKind, o.Spec.ParamKind) {
			return nil
		}
		return a.forKind(ctx, o.Spec.ParamKind)
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		before, _ := old.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding)
		if before != nil && before.Spec.PolicyName == o.Spec.PolicyName &&
			equality.Semantic.DeepEqual(before.Spec.ParamRef, o.Spec.ParamRef) {
			return nil
		}
		return a.forRef(ctx, bound{o.Spec.PolicyName, o.Spec.ParamRef, false})
	case *admissionregistrationv1.MutatingAdmissionPolicyBinding:
		before, _ := old.(*admissionregistrationv1.MutatingAdmissionPolicyBinding)
		if before != nil && before.Spec.PolicyName == o.Spec.PolicyName &&
			equality.Semantic.DeepEqual(before.Spec.ParamRef, o.Spec.ParamRef) {
			return nil
		}
		return a.forRef(ctx, bound{o.Spec.PolicyName, o.Spec.ParamRef, true})
	}
	return nil
}

var errNoUser = errors.New("cannot identify user to authorize read access to params")

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
func (a *ParamAccess) forKind(ctx context.Context, kind *admissionregistrationv1.ParamKind) error {
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
		return fmt.Errorf(`user %v must have "get" permission on all objects of the referenced paramKind (kind=%s, apiVersion=%s)`,
			u, kind.Kind, kind.APIVersion)
	}
	return nil
}

// setResource sets the resource of a kind; all resources of its version, or of all versions, if it is not known.
func (a *ParamAccess) setResource(to *authorizer.AttributesRecord, kind *admissionregistrationv1.ParamKind) error {
	to.APIGroup, to.APIVersion, to.Resource = all, all, all
	version, err := schema.ParseGroupVersion(kind.APIVersion)
	if err != nil {
		return fmt.Errorf("unable to parse paramKind %v", kind)
	}
	to.APIGroup, to.APIVersion = version.Group, version.Version
	found, err := a.Resource(version.WithKind(kind.Kind))
	if err != nil {
		return fmt.Errorf("unable to resolve paramKind %v", kind)
	}
	to.Resource = found.Resource
	return nil
}

// bound is what a binding binds.
type bound struct {
	policy   string
	ref      *admissionregistrationv1.ParamRef
	mutating bool
}

// forRef requires that the user may read the parameters of a binding.
func (a *ParamAccess) forRef(ctx context.Context, b bound) error {
	u, err := reader(ctx)
	if u == nil || b.ref == nil || err != nil {
		return err
	}
	attributes := authorizer.AttributesRecord{
		User: u, Verb: "get", ResourceRequest: true, Name: b.ref.Name, Namespace: b.ref.Namespace,
		APIGroup: all, APIVersion: all, Resource: all,
	}
	if b.ref.Name == "" {
		attributes.Verb = "list"
	}
	kind, unknown := a.Policy(ctx, b.mutating, b.policy)
	if unknown != nil {
		unknown = fmt.Errorf("unable to get policy %s", b.policy)
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
		return fmt.Errorf(`%w to determine minimum required permissions and user %v does not have "%v" permission for all groups, `+
			`versions and resources`, unknown, u, attributes.Verb)
	}
	return fmt.Errorf(`user %v does not have "%v" permission on the object referenced by paramRef`, u, attributes.Verb)
}
