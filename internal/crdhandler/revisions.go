package crdhandler

import (
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// readAt says what state a resourceVersion asks for: the latest, any, or none older than it.
func readAt(resourceVersion string) (dynamicstorage.ReadAt, error) {
	if resourceVersion == "" {
		return dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent}, nil
	}
	revision, err := readRevision(resourceVersion)
	if err != nil {
		return dynamicstorage.ReadAt{}, err
	}
	return notOlderThan(revision), nil
}

// notOlderThan is the state at a revision or a later one; any state does for 0.
func notOlderThan(revision int64) dynamicstorage.ReadAt {
	if revision == 0 {
		return dynamicstorage.ReadAt{Mode: dynamicstorage.Any}
	}
	return dynamicstorage.ReadAt{Mode: dynamicstorage.NotOlderThan, Revision: revision}
}

// readRevision reads a resourceVersion that a client sent. The error has upstream's text, which names no API reason:
// GET and watch answer it with 500, list with 400.
func readRevision(resourceVersion string) (int64, error) {
	if resourceVersion == "" || resourceVersion == "0" {
		return 0, nil
	}
	revision, err := strconv.ParseUint(resourceVersion, 10, 63)
	if err != nil {
		return 0, field.ErrorList{field.Invalid(field.NewPath("resourceVersion"), resourceVersion, err.Error())}.ToAggregate()
	}
	return int64(revision), nil
}

// objectKey returns the storage key of the object a request names.
func (s *requestScope) objectKey(namespace, name string) (string, error) {
	switch {
	case s.namespaced && namespace == "":
		return "", apierrors.NewBadRequest("Namespace parameter required.")
	case name == "":
		return "", apierrors.NewBadRequest("Name parameter required.")
	}
	if problems := content.IsPathSegmentName(name); len(problems) != 0 {
		return "", apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", name, strings.Join(problems, ";")))
	}
	if s.namespaced {
		if problems := content.IsPathSegmentName(namespace); len(problems) != 0 {
			return "", apierrors.NewBadRequest(fmt.Sprintf("Namespace parameter invalid: %q: %s", namespace, strings.Join(problems, ";")))
		}
		return storageKey(namespace, name), nil
	}
	return name, nil
}
