package validation

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// plainObjectMeta reads metadata that is as it ought to be, as the library does by reflection, but for the fields of managers:
// nothing looks at those in metadata, and the library turns each set into JSON. ok is false for metadata that has anything
// unusual in it, which is left to the library.
func plainObjectMeta(fields map[string]any) (m *metav1.ObjectMeta, ok bool) {
	m = &metav1.ObjectMeta{}
	for name, value := range fields {
		switch name {
		case "name":
			m.Name, ok = value.(string)
		case "generateName":
			m.GenerateName, ok = value.(string)
		case "namespace":
			m.Namespace, ok = value.(string)
		case "uid":
			m.UID, ok = plainText[types.UID](value)
		case "resourceVersion":
			m.ResourceVersion, ok = value.(string)
		case "generation":
			m.Generation, ok = value.(int64)
		case "creationTimestamp":
			m.CreationTimestamp, ok = plainTime(value)
		case "deletionTimestamp":
			var deleted metav1.Time
			deleted, ok = plainTime(value)
			m.DeletionTimestamp = &deleted
		case "deletionGracePeriodSeconds":
			var seconds int64
			seconds, ok = value.(int64)
			m.DeletionGracePeriodSeconds = &seconds
		case "labels":
			m.Labels, ok = plainTexts(value)
		case "annotations":
			m.Annotations, ok = plainTexts(value)
		case "finalizers":
			m.Finalizers, ok = plainList(value, plainText[string])
		case "ownerReferences":
			m.OwnerReferences, ok = plainList(value, plainOwner)
		case "managedFields":
			m.ManagedFields, ok = plainList(value, plainManager)
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
	}
	return m, true
}

func plainText[T ~string](value any) (T, bool) {
	text, ok := value.(string)
	return T(text), ok
}

// plainTime reads the form in which times are written, which is parsed much faster than others.
func plainTime(value any) (metav1.Time, bool) {
	text, ok := value.(string)
	if !ok || len(text) != len("2006-01-02T15:04:05Z") {
		return metav1.Time{}, false
	}
	parsed, err := time.Parse(time.RFC3339, text)
	return metav1.Time{Time: parsed.Local()}, err == nil
}

func plainTexts(value any) (map[string]string, bool) {
	fields, ok := value.(map[string]any)
	if !ok || fields == nil {
		return nil, false
	}
	texts := make(map[string]string, len(fields))
	for key, value := range fields {
		if texts[key], ok = value.(string); !ok {
			return nil, false
		}
	}
	return texts, true
}

func plainList[T any](value any, read func(any) (T, bool)) ([]T, bool) {
	items, ok := value.([]any)
	if !ok || items == nil {
		return nil, false
	}
	list := make([]T, len(items))
	for i := range items {
		if list[i], ok = read(items[i]); !ok {
			return nil, false
		}
	}
	return list, true
}

func plainOwner(value any) (owner metav1.OwnerReference, ok bool) {
	fields, ok := value.(map[string]any)
	if !ok {
		return owner, false
	}
	for name, value := range fields {
		switch name {
		case "apiVersion":
			owner.APIVersion, ok = value.(string)
		case "kind":
			owner.Kind, ok = value.(string)
		case "name":
			owner.Name, ok = value.(string)
		case "uid":
			owner.UID, ok = plainText[types.UID](value)
		case "controller":
			owner.Controller, ok = plainBool(value)
		case "blockOwnerDeletion":
			owner.BlockOwnerDeletion, ok = plainBool(value)
		default:
			ok = false
		}
		if !ok {
			return owner, false
		}
	}
	return owner, true
}

func plainBool(value any) (*bool, bool) {
	b, ok := value.(bool)
	return &b, ok
}

func plainManager(value any) (manager metav1.ManagedFieldsEntry, ok bool) {
	fields, ok := value.(map[string]any)
	if !ok {
		return manager, false
	}
	for name, value := range fields {
		switch name {
		case "manager":
			manager.Manager, ok = value.(string)
		case "operation":
			manager.Operation, ok = plainText[metav1.ManagedFieldsOperationType](value)
		case "apiVersion":
			manager.APIVersion, ok = value.(string)
		case "time":
			var at metav1.Time
			at, ok = plainTime(value)
			manager.Time = &at
		case "fieldsType":
			manager.FieldsType, ok = value.(string)
		case "subresource":
			manager.Subresource, ok = value.(string)
		case "fieldsV1":
			_, ok = value.(map[string]any)
		default:
			ok = false
		}
		if !ok {
			return manager, false
		}
	}
	// Entries that are equal but for their fields are validated as unchanged: that must not hide an error.
	known := manager.Operation == metav1.ManagedFieldsOperationApply || manager.Operation == metav1.ManagedFieldsOperationUpdate
	return manager, known
}
