package crdhandler

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/objectjson"
)

// maxMetadataEntries is how many labels, annotations, finalizers, owner references and entries of managed fields an
// object may have of each. Validation makes several errors, of some hundred bytes, for each of them.
const maxMetadataEntries = 10_000

// maxControllers is how many owner references may say that they are the controller. Only one is valid, and the error of
// each further one contains all owner references.
// See docs/upstream.md, "An error for each controller with all owners".
const maxControllers = 10

// checkBody refuses a body that would take too much memory when it is decoded, as the decoders refuse what is nested too
// deep for them. checkObject has to follow.
func checkBody(body []byte, mediaType string) error {
	switch mediaType {
	case runtime.ContentTypeJSON:
		return badDocument(objectjson.CheckJSON(body))
	case runtime.ContentTypeYAML:
		return badDocument(objectjson.CheckYAML(body))
	}
	return nil
}

// checkObject refuses a decoded object that exceeds the limits of its body, unless that was JSON.
func checkObject(obj runtime.Object, mediaType string) error {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok || mediaType == runtime.ContentTypeJSON {
		return nil
	}
	return badDocument(objectjson.CheckValue(u.Object))
}

// checkMetadata refuses an object with too many entries in its metadata.
func checkMetadata(obj map[string]any) error {
	metadata, _ := obj["metadata"].(map[string]any)
	for _, name := range [...]string{"labels", "annotations", "finalizers", "ownerReferences", "managedFields"} {
		entries := 0
		switch value := metadata[name].(type) {
		case map[string]any:
			entries = len(value)
		case []any:
			entries = len(value)
		}
		if entries > maxMetadataEntries {
			return tooLarge("metadata.%s has %d entries, at most %d are allowed", name, entries, maxMetadataEntries)
		}
	}
	owners, _ := metadata["ownerReferences"].([]any)
	return checkControllers(owners)
}

func checkControllers(owners []any) error {
	controllers := 0
	for _, owner := range owners {
		if members, _ := owner.(map[string]any); members["controller"] == true {
			controllers++
		}
	}
	if controllers > maxControllers {
		return tooLarge("metadata.ownerReferences has %d controllers, only one is allowed", controllers)
	}
	return nil
}

// badDocument returns the answer to a document that exceeds a limit, nil if err is nil.
func badDocument(err error) error {
	if err == nil {
		return nil
	}
	return apierrors.NewBadRequest(err.Error())
}

// tooLarge returns the answer to metadata that exceeds a limit.
func tooLarge(format string, args ...any) error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(format, args...))
}

// isAnswer reports whether the error of a decoder is an answer, which does not become a part of another one.
func isAnswer(err error) bool {
	_, ok := errors.AsType[*apierrors.StatusError](err)
	return ok || errors.Is(err, errTooLarge)
}
