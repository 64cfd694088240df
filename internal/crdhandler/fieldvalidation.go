package crdhandler

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/warning"
)

// fieldValidation is the mode of handling unknown and duplicate fields (W11): Ignore, Warn or Strict.
type fieldValidation string

// fieldValidationOf returns the mode of an option; Warn by default.
func fieldValidationOf(option string) fieldValidation {
	if option == "" {
		return metav1.FieldValidationWarn
	}
	return fieldValidation(option)
}

// looks reports whether unknown and duplicate fields have to be found at all.
func (v fieldValidation) looks() bool {
	return v == metav1.FieldValidationWarn || v == metav1.FieldValidationStrict
}

// serializer returns the serializer of a media type that finds such fields if the mode needs them.
func (v fieldValidation) serializer(info runtime.SerializerInfo) runtime.Serializer {
	if v.looks() {
		return info.StrictSerializer
	}
	return info.Serializer
}

// judge warns of the fields that were found, or returns them as one error in the mode Strict.
func (v fieldValidation) judge(ctx context.Context, found []error) error {
	switch {
	case len(found) == 0:
		return nil
	case v == metav1.FieldValidationWarn:
		warnStrict(ctx, found)
		return nil
	}
	return runtime.NewStrictDecodingError(found)
}

// warnStrict adds a Warning header for each field found.
func warnStrict(ctx context.Context, found []error) {
	for _, err := range found {
		for _, text := range yamlMessages(err.Error()) {
			warning.AddWarning(ctx, "", text)
		}
	}
}

// yamlPrefixes are the prefixes of errors in which the YAML decoder joins several messages.
var yamlPrefixes = []string{"yaml: unmarshal errors:\n", "error converting YAML to JSON: yaml: unmarshal errors:\n"}

// yamlMessages returns the messages of a YAML error one by one, and the text of any other error unchanged.
func yamlMessages(text string) []string {
	for _, prefix := range yamlPrefixes {
		joined, found := strings.CutPrefix(text, prefix)
		if !found {
			continue
		}
		messages := strings.Split(joined, "\n")
		for i := range messages {
			messages[i] = strings.TrimSpace(messages[i])
		}
		return messages
	}
	return []string{text}
}
