package selection

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// ReadAt returns the state that the resourceVersion of a GET asks for: the latest, any, or one that is not older.
func ReadAt(resourceVersion string) (dynamicstorage.ReadAt, error) {
	if resourceVersion == "" {
		return dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent}, nil
	}
	revision, err := ParseResourceVersion(resourceVersion)
	if err != nil {
		return dynamicstorage.ReadAt{}, err
	}
	return NotOlderThan(revision), nil
}

// NotOlderThan returns the state at a revision or a later one. Revision 0 means any state.
func NotOlderThan(revision int64) dynamicstorage.ReadAt {
	if revision == 0 {
		return dynamicstorage.ReadAt{Mode: dynamicstorage.Any}
	}
	return dynamicstorage.ReadAt{Mode: dynamicstorage.NotOlderThan, Revision: revision}
}

// ParseResourceVersion parses the resourceVersion of a request; "" is 0. The error has upstream's text and no API
// reason: GET and watch answer it with 500, list with 400.
func ParseResourceVersion(resourceVersion string) (int64, error) {
	if resourceVersion == "" || resourceVersion == "0" {
		return 0, nil
	}
	revision, err := strconv.ParseUint(resourceVersion, 10, 63)
	if err != nil {
		return 0, field.ErrorList{field.Invalid(field.NewPath("resourceVersion"), resourceVersion, err.Error())}.ToAggregate()
	}
	return int64(revision), nil
}
