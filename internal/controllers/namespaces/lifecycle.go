package namespaces

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// PluginName is the name of Lifecycle for --disable-admission-plugins.
const PluginName = "NamespaceLifecycle"

// immortal are the namespaces that cannot be deleted.
var immortal = []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic}

const plural = "namespaces"

var groupResource = schema.GroupResource{Resource: plural}

// Lifecycle is the admission plugin of that name. It runs before all other mutating admission, for the creation of
// objects and their subresources and for the deletion of namespaces.
//
// Upstream decides by an informer, so an object can be created after the deletion of its namespace began. Lifecycle
// decides by the cache too, but the object is committed under the condition that the namespace has not changed.
type Lifecycle struct {
	namespaces *dynamicstorage.Resource
}

// NewLifecycle returns the Lifecycle for the namespaces in a resource.
func NewLifecycle(namespaces *dynamicstorage.Resource) *Lifecycle { return &Lifecycle{namespaces} }

// ForCreate returns a condition for the commit of a new object in a namespace: the namespace is as it was when
// ForCreate decided. If the commit fails with ErrCondition, the caller asks again, with fresh. A dry run commits
// nothing and sets fresh at once.
//
// The error is the answer to the request: the namespace does not exist or is being deleted. attributes returns those
// of the request; it is only called for an error. fresh makes ForCreate decide by the state in etcd.
func (l *Lifecycle) ForCreate(
	ctx context.Context, namespace string, fresh bool, attributes func() admission.Attributes,
) (dynamicstorage.Condition, error) {
	entry, err := l.read(ctx, namespace, fresh)
	switch {
	case errors.Is(err, dynamicstorage.ErrNotFound), errors.Is(err, dynamicstorage.ErrInvalidKey):
		return dynamicstorage.Condition{}, apierrors.NewNotFound(groupResource, namespace)
	case err != nil:
		return dynamicstorage.Condition{}, apierrors.NewInternalError(err)
	case entry.Header.Deleting:
		return dynamicstorage.Condition{}, terminating(attributes(), namespace)
	}
	return l.namespaces.Unchanged(namespace, entry.Revision), nil
}

// read returns the entry of a namespace. Only an entry that admits new objects may be out of date, because the
// condition of the commit finds that out.
func (l *Lifecycle) read(ctx context.Context, namespace string, fresh bool) (*dynamicstorage.Entry, error) {
	if !fresh {
		entry, _, err := l.namespaces.Get(ctx, namespace, dynamicstorage.ReadAt{Mode: dynamicstorage.Any})
		if err == nil && entry.Err == nil && !entry.Header.Deleting {
			return entry, nil
		}
	}
	entry, _, err := l.namespaces.Get(ctx, namespace, dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
	if err == nil {
		err = entry.Err
	}
	return entry, err
}

// terminating is the answer to a creation in a namespace that is being deleted.
func terminating(a admission.Attributes, namespace string) error {
	err := admission.NewForbidden(a,
		fmt.Errorf("unable to create new content in namespace %s because it is being terminated", namespace))
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		status.ErrStatus.Details.Causes = append(status.ErrStatus.Details.Causes, metav1.StatusCause{
			Type:    corev1.NamespaceTerminatingCause,
			Message: fmt.Sprintf("namespace %s is being terminated", namespace),
			Field:   "metadata.namespace",
		})
	}
	return err
}

// ForDelete returns the answer to the deletion of a namespace that must stay, else nil.
func (l *Lifecycle) ForDelete(namespace string) error {
	if slices.Contains(immortal, namespace) {
		return apierrors.NewForbidden(groupResource, namespace, errors.New("this namespace may not be deleted"))
	}
	return nil
}
