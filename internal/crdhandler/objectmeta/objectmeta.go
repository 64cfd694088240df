package objectmeta

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// ErrNoName answers a request without a name in its path that needs one.
var ErrNoName = apierrors.NewBadRequest("name must be provided")

// MatchNamespace sets the namespace of an object to that of the request. The error says that the object names another
// one.
func MatchNamespace(namespace string, m metav1.Object) error {
	switch own := m.GetNamespace(); {
	case own == namespace:
		return nil
	case own == "" || namespace == "":
		m.SetNamespace(namespace)
		return nil
	}
	return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
}

// MatchName checks that an object is the one its URL names.
func MatchName(obj runtime.Object, namespace, name string) error {
	m := Accessor(obj)
	switch own := m.GetName(); {
	case own == "":
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: %v", name,
			ErrNoName))
	case own != name:
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", own,
			name))
	}
	if own := m.GetNamespace(); namespace != "" && own != "" && own != namespace {
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the namespace of the object (%s) does not match the namespace on the request (%s)", own, namespace))
	}
	return nil
}

// Accessor returns the metadata of an object of an endpoint. All of them have metadata.
func Accessor(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		panic("objectmeta: object without metadata: " + err.Error())
	}
	return m
}

// Exists reports whether obj is a stored object: only those have a UID.
func Exists(obj runtime.Object) bool {
	return obj != nil && Accessor(obj).GetUID() != ""
}

// WipeSystemFields clears the fields that clients cannot set on new objects.
func WipeSystemFields(m metav1.Object) {
	m.SetCreationTimestamp(metav1.Time{})
	m.SetUID("")
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	m.SetSelfLink("")
}

// FillSystemFields sets the fields of a new object that the server decides.
func FillSystemFields(m metav1.Object) {
	m.SetCreationTimestamp(metav1.Now())
	m.SetUID(uuid.NewUUID())
}

// KeepSystemFields restores the fields that no update can change or remove.
func KeepSystemFields(m, old metav1.Object) {
	if m.GetUID() == "" {
		m.SetUID(old.GetUID())
	}
	if created := old.GetCreationTimestamp(); !created.IsZero() {
		m.SetCreationTimestamp(created)
	}
	if deleted := old.GetDeletionTimestamp(); !deleted.IsZero() {
		m.SetDeletionTimestamp(deleted)
	}
	if grace := old.GetDeletionGracePeriodSeconds(); grace != nil && m.GetDeletionGracePeriodSeconds() == nil {
		m.SetDeletionGracePeriodSeconds(grace)
	}
}
