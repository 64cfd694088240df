package crdhandler

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/objectjson"
)

// checkBody refuses a body that would take too much memory when it is decoded, as the decoders refuse what is nested
// too deep for them. checkObject has to follow.
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

// badDocument returns the answer to a document that exceeds a limit, nil if err is nil.
func badDocument(err error) error {
	if err == nil {
		return nil
	}
	return apierrors.NewBadRequest(err.Error())
}

// isAnswer reports whether the error of a decoder is an answer, which does not become a part of another one.
func isAnswer(err error) bool {
	_, ok := errors.AsType[*apierrors.StatusError](err)
	return ok || errors.Is(err, stored.ErrTooLarge)
}
