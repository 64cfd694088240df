package write

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Policy decides which writes the server allows. All resources share one Policy.
type Policy struct {
	// Authorizer decides about applies that create an object, and about unsafe deletions; nil allows all.
	Authorizer authorizer.Authorizer
	// Namespaces decides in which namespaces objects may be created; nil for all, whether they exist or not.
	Namespaces NamespaceLifecycle
	// Quotas limit what the objects in namespaces use; nil for no limits.
	Quotas ResourceQuotas
	// Admission admits objects before they are stored; nil admits all.
	Admission admission.Interface
}

// admits reports whether plugins admit objects at present. They have nothing to do while there are no webhooks and
// policies.
func (p *Policy) admits() bool {
	a := p.Admission
	return a != nil && (a.Handles(admission.Create) || a.Handles(admission.Update) || a.Handles(admission.Delete))
}

// NamespaceLifecycle decides about namespaces as the admission plugin of that name. It comes before all other
// admission.
type NamespaceLifecycle interface {
	// ForCreate returns a condition for the commit of a new object in a namespace, which holds while the decision is
	// right. If it does not hold, ForCreate is called again, with fresh. attributes are those of the request.
	ForCreate(
		ctx context.Context, namespace string, fresh bool, attributes func() admission.Attributes,
	) (dynamicstorage.Condition, error)
	// ForDelete returns the answer to the deletion of a namespace that must stay, else nil.
	ForDelete(namespace string) error
}

// ResourceQuotas decides about objects as the admission plugin ResourceQuota. It comes after all other admission.
type ResourceQuotas interface {
	// Updates reports whether updates at an endpoint may change what an object uses.
	Updates(resource schema.GroupResource, subresource string) bool
	// Reserve adds what a new or updated object uses to the usage of its namespace, or returns the answer to a request
	// that exceeds a quota.
	Reserve(ctx context.Context, namespace string, attributes func() admission.Attributes) error
}
