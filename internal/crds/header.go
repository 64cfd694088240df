package crds

import (
	"encoding/json"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// ReadHeader reads the part of a stored object that indexes and watches need. It runs for every object that is
// loaded, so it decodes nothing but the metadata.
func ReadHeader(value []byte) (dynamicstorage.Header, error) {
	if object, err := decodeMeta(value); err != nil {
		return dynamicstorage.Header{}, err
	} else if object != nil {
		return dynamicstorage.Header{
			Labels:   dynamicstorage.PairsOf(object.GetLabels()),
			Deleting: object.GetDeletionTimestamp() != nil,
		}, nil
	}
	var m struct {
		Labels            map[string]string `json:"labels"`
		DeletionTimestamp json.RawMessage   `json:"deletionTimestamp"`
	}
	if err := decodeJSONMetadata(value, &m); err != nil {
		return dynamicstorage.Header{}, err
	}
	return dynamicstorage.Header{Labels: dynamicstorage.PairsOf(m.Labels), Deleting: isSet(m.DeletionTimestamp)}, nil
}
