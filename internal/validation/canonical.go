package validation

import (
	"time"
	"unicode/utf8"
)

// canonicalMeta says whether metadata is already what reading it as ObjectMeta and writing it back would make of it, and tells
// the generation. Nearly all metadata is, and seeing that is a small part of the work. It may say no without need, but
// never yes.
func canonicalMeta(metadata any) (generation int64, ok bool) {
	fields, ok := metadata.(map[string]any)
	if !ok || fields == nil {
		return 0, false
	}
	for name, value := range fields {
		switch name {
		case "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion":
			ok = canonicalText(value)
		case "generation":
			// 0 is not written.
			generation, ok = value.(int64)
			ok = ok && generation != 0
		case "deletionGracePeriodSeconds":
			_, ok = value.(int64)
		case "creationTimestamp", "deletionTimestamp":
			ok = canonicalTime(value)
		case "labels", "annotations":
			ok = canonicalTexts(value)
		case "finalizers":
			ok = canonicalList(value, isText)
		case "ownerReferences":
			ok = canonicalList(value, canonicalOwner)
		case "managedFields":
			ok = canonicalList(value, canonicalManager)
		default:
			ok = false
		}
		if !ok {
			return 0, false
		}
	}
	return generation, true
}

// isText holds for strings as JSON knows them.
func isText(value any) bool {
	text, ok := value.(string)
	return ok && utf8.ValidString(text)
}

// canonicalText holds for strings that are written: not the empty one.
func canonicalText(value any) bool {
	return value != "" && isText(value)
}

// canonicalTime holds for times as they are written: whole seconds, UTC.
func canonicalTime(value any) bool {
	const layout = "2006-01-02T15:04:05Z"
	text, ok := value.(string)
	if !ok || len(text) != len(layout) {
		return false
	}
	parsed, err := time.Parse(layout, text)
	return err == nil && !parsed.IsZero()
}

func canonicalTexts(value any) bool {
	texts, ok := value.(map[string]any)
	if !ok || len(texts) == 0 {
		return false
	}
	for key, text := range texts {
		if !isText(text) || !utf8.ValidString(key) {
			return false
		}
	}
	return true
}

func canonicalList(value any, canonicalItem func(any) bool) bool {
	items, ok := value.([]any)
	if !ok || len(items) == 0 {
		return false
	}
	for _, item := range items {
		if !canonicalItem(item) {
			return false
		}
	}
	return true
}

// canonicalOwner holds for owner references: four fields are always written, two if they are there.
func canonicalOwner(value any) bool {
	fields, _ := value.(map[string]any)
	always := 0
	for name, value := range fields {
		switch name {
		case "apiVersion", "kind", "name", "uid":
			if !isText(value) {
				return false
			}
			always++
		case "controller", "blockOwnerDeletion":
			if _, ok := value.(bool); !ok {
				return false
			}
		default:
			return false
		}
	}
	return always == 4
}

func canonicalManager(value any) bool {
	fields, ok := value.(map[string]any)
	if !ok {
		return false
	}
	for name, value := range fields {
		switch name {
		case "manager", "operation", "apiVersion", "fieldsType", "subresource":
			ok = canonicalText(value)
		case "time":
			ok = canonicalTime(value)
		case "fieldsV1":
			ok = canonicalFields(value)
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}

// canonicalFields holds for sets of fields: objects in objects, down to empty ones.
func canonicalFields(value any) bool {
	fields, ok := value.(map[string]any)
	if !ok {
		return false
	}
	for key, value := range fields {
		if !utf8.ValidString(key) || !canonicalFields(value) {
			return false
		}
	}
	return true
}
