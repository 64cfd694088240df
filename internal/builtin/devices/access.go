package devices

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// Access decides what a user may write of claims besides the authorization of the request: who allocates a claim needs
// resourceclaims/binding, who reports the status of its devices resourceclaims/driver, and claims with administrative
// access are only for namespaces with a label.
type Access struct {
	Authorizer authorizer.Authorizer
	// Namespace returns a namespace.
	Namespace func(ctx context.Context, name string) (*corev1.Namespace, error)
}

// Plugins returns the plugins for claims. Their errors come before those of the strategy.
func (a Access) Plugins() []resource.Plugin {
	claims, templates := resourcev1.Resource("resourceclaims"), resourcev1.Resource("resourceclaimtemplates")
	return []resource.Plugin{
		{Resource: claims, Check: a.checkNew(func(obj runtime.Object) *resourcev1.ResourceClaimSpec {
			return &obj.(*resourcev1.ResourceClaim).Spec
		})},
		{Resource: claims, Subresource: "status", Check: a.checkStatus},
		{Resource: templates, Check: a.checkNew(func(obj runtime.Object) *resourcev1.ResourceClaimSpec {
			return &obj.(*resourcev1.ResourceClaimTemplate).Spec.Spec
		})},
	}
}

// check is the function of a plugin.
type check = func(ctx context.Context, obj, old runtime.Object, errs field.ErrorList) field.ErrorList

// checkNew returns the check of new objects that contain the specification of a claim.
func (a Access) checkNew(specOf func(obj runtime.Object) *resourcev1.ResourceClaimSpec) check {
	return func(ctx context.Context, obj, old runtime.Object, errs field.ErrorList) field.ErrorList {
		if old != nil {
			return errs
		}
		return append(a.checkAdmin(ctx, obj.(metav1.Object).GetNamespace(), adminRequest(specOf(obj))), errs...)
	}
}

// adminRequest returns the path of the first request for administrative access; nil if there is none.
func adminRequest(spec *resourcev1.ResourceClaimSpec) *field.Path {
	for n := range spec.Devices.Requests {
		exactly := spec.Devices.Requests[n].Exactly
		if exactly != nil && ptr.Deref(exactly.AdminAccess, false) {
			return specPath.Child("devices", "requests").Index(n).Child("adminAccess")
		}
	}
	return nil
}

// adminResult is adminRequest for an allocation.
func adminResult(status *resourcev1.ResourceClaimStatus) *field.Path {
	if status.Allocation == nil {
		return nil
	}
	results := status.Allocation.Devices.Results
	for n := range results {
		if ptr.Deref(results[n].AdminAccess, false) {
			return statusPath.Child("allocation", "devices", "results").Index(n).Child("adminAccess")
		}
	}
	return nil
}

// checkAdmin requires the label of a namespace, if there is a path.
func (a Access) checkAdmin(ctx context.Context, namespace string, path *field.Path) field.ErrorList {
	if path == nil {
		return nil
	}
	found, err := a.Namespace(ctx, namespace)
	if err != nil {
		err = fmt.Errorf("could not retrieve namespace to verify admin access: %w", err)
		return field.ErrorList{field.InternalError(path, err)}
	}
	if found.Labels[resourcev1.DRAAdminNamespaceLabelKey] == "true" {
		return nil
	}
	text := fmt.Sprintf("admin access to devices requires the `%s: true` label on the containing namespace",
		resourcev1.DRAAdminNamespaceLabelKey)
	return field.ErrorList{field.Forbidden(path, text)}
}

func (a Access) checkStatus(ctx context.Context, obj, old runtime.Object, found field.ErrorList) field.ErrorList {
	var errs field.ErrorList
	claim, before := obj.(*resourcev1.ResourceClaim), old.(*resourcev1.ResourceClaim)
	if adminResult(&before.Status) == nil {
		errs = a.checkAdmin(ctx, claim.Namespace, adminResult(&claim.Status))
	}
	request, err := filters.GetAuthorizerAttributes(ctx)
	if err != nil {
		err = fmt.Errorf("cannot build authorizer attributes: %w", err)
		return append(append(errs, field.InternalError(statusPath, err)), found...)
	}
	asked := authorizer.AttributesRecord{
		User: request.GetUser(), Verb: request.GetVerb(), Namespace: request.GetNamespace(),
		APIGroup: request.GetAPIGroup(), APIVersion: request.GetAPIVersion(), Resource: request.GetResource(),
		ResourceRequest: true,
	}
	errs = append(errs, a.checkBinding(ctx, asked, &claim.Status, &before.Status)...)
	if claim.Status.Allocation != nil { // else there is no status of devices
		errs = append(errs, a.checkDrivers(ctx, asked, &claim.Status, &before.Status)...)
	}
	return append(errs, found...)
}

// checkBinding requires resourceclaims/binding, in all namespaces, to change the allocation or the consumers.
func (a Access) checkBinding(
	ctx context.Context, asked authorizer.AttributesRecord, status, old *resourcev1.ResourceClaimStatus,
) field.ErrorList {
	if equality.Semantic.DeepEqual(status.Allocation, old.Allocation) &&
		equality.Semantic.DeepEqual(status.ReservedFor, old.ReservedFor) {
		return nil
	}
	asked.Namespace, asked.Subresource = "", resourcev1.SubresourceBinding
	err := a.allows(ctx, asked, asked.Verb)
	if err == nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(statusPath.Child("allocation"), fmt.Sprintf("changing status.allocation or "+
		`status.reservedFor requires resource="resourceclaims/binding", verb="%s" permission: %s`, asked.Verb, err))}
}

// checkDrivers requires resourceclaims/driver for each driver whose devices have another status. An account of the node
// of the claim has a verb of its own.
func (a Access) checkDrivers(
	ctx context.Context, asked authorizer.AttributesRecord, status, old *resourcev1.ResourceClaimStatus,
) (errs field.ErrorList) {
	verbs := []string{resourcev1.VerbPrefixArbitraryNode + asked.Verb}
	if isOnNode(asked.User, nodeOf(status.Allocation)) {
		verbs = []string{resourcev1.VerbPrefixAssociatedNode + asked.Verb, verbs[0]}
	}
	asked.Subresource = resourcev1.SubresourceDriver
	for _, driver := range sets.List(changedDrivers(status.Devices, old.Devices)) {
		asked.Name = driver
		if err := a.allows(ctx, asked, verbs...); err != nil {
			errs = append(errs, field.Forbidden(statusPath.Child("devices"), fmt.Sprintf("changing status.devices requires "+
				`resource="resourceclaims/driver", verb="%s" permission: %s`, verbs, err)))
		}
	}
	return errs
}

// changedDrivers returns the drivers of devices whose status was added, changed or removed.
func changedDrivers(devices, old []resourcev1.AllocatedDeviceStatus) sets.Set[string] {
	drivers, before := sets.New[string](), map[deviceID]*resourcev1.AllocatedDeviceStatus{}
	for n := range old {
		before[idOf(old[n])] = &old[n]
	}
	for n := range devices {
		id := idOf(devices[n])
		if was := before[id]; was == nil || !equality.Semantic.DeepEqual(was, &devices[n]) {
			drivers.Insert(id.Driver)
		}
		delete(before, id)
	}
	for id := range before {
		drivers.Insert(id.Driver)
	}
	return drivers
}

// nodeOf returns the node of an allocation; empty if it is not for one node.
func nodeOf(a *resourcev1.AllocationResult) string {
	if a == nil || a.NodeSelector == nil || len(a.NodeSelector.NodeSelectorTerms) != 1 {
		return ""
	}
	term := &a.NodeSelector.NodeSelectorTerms[0]
	if len(term.MatchExpressions) > 0 || len(term.MatchFields) != 1 {
		return ""
	}
	f := &term.MatchFields[0]
	if f.Key != "metadata.name" || f.Operator != corev1.NodeSelectorOpIn || len(f.Values) != 1 {
		return ""
	}
	return f.Values[0]
}

// isOnNode reports whether a user is a service account of a pod on a node.
func isOnNode(u user.Info, node string) bool {
	if node == "" || u == nil {
		return false
	}
	_, _, err := serviceaccount.SplitUsername(u.GetName())
	nodes := u.GetExtra()[serviceaccount.NodeNameKey]
	return err == nil && len(nodes) == 1 && nodes[0] == node
}

// allows returns the first error unless the authorizer allows one of the verbs. The error of one of several authorizers
// does not matter then.
func (a Access) allows(ctx context.Context, asked authorizer.AttributesRecord, verbs ...string) (first error) {
	for _, verb := range verbs {
		asked.Verb = verb
		decision, reason, err := a.Authorizer.Authorize(ctx, asked)
		if decision == authorizer.DecisionAllow {
			return nil
		}
		if err != nil && reason != "" {
			reason = fmt.Sprintf("%v: %s", err, reason)
		} else if err != nil {
			reason = err.Error()
		}
		if first == nil {
			first = responsewriters.ForbiddenStatusError(asked, reason)
		}
	}
	return first
}
