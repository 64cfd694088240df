package validation

import (
	"time"
	"unicode/utf8"
)

// readMetadataFast is readMetadata without the library if metadata is canonical.
func readMetadataFast(obj map[string]any, o CoerceOptions) (metadata, []string, error) {
	if generation, ok := canonicalMetadata(obj["metadata"]); ok && (generation != 0 || !o.RepairGeneration) {
		return metadata{canonical: obj["metadata"].(map[string]any)}, nil, nil
	}
	return readMetadataWithLibrary(obj, o)
}

// canonicalMetadata reports whether decoding metadata as ObjectMeta and encoding it again would certainly not change
// it, and returns the generation. Nearly all metadata is canonical.
func canonicalMetadata(metadata any) (generation int64, ok bool) {
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

// isText reports whether a value is a string of JSON.
func isText(value any) bool {
	text, ok := value.(string)
	return ok && utf8.ValidString(text)
}

// canonicalText reports whether a value is a string that is encoded: an empty one is omitted.
func canonicalText(value any) bool {
	return value != "" && isText(value)
}

// canonicalTime reports whether a value is a time in its encoded form: in whole seconds, in UTC.
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

// canonicalOwner reports whether a value is an owner reference with the four fields that are always encoded.
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

// canonicalFields reports whether a value is a set of fields: objects in objects, down to empty ones.
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
