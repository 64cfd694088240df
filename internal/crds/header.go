package crds

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// The prefixes of values that are not JSON.
var (
	cborPrefix     = []byte{0xd9, 0xd9, 0xf7}
	protobufPrefix = []byte{'k', '8', 's', 0}
)

// ReadHeader reads the part of a stored object that indexes and watches need. It runs for every object that is
// loaded, so it stops after the metadata, which this server writes before spec and status.
func ReadHeader(value []byte) (dynamicstorage.Header, error) {
	switch {
	case bytes.HasPrefix(value, cborPrefix):
		var object map[string]any
		if err := direct.Unmarshal(value, &object); err != nil {
			return dynamicstorage.Header{}, fmt.Errorf("decode CBOR: %w", err)
		}
		return headerOf(&unstructured.Unstructured{Object: object}), nil
	case bytes.HasPrefix(value, protobufPrefix):
		return readProtobufHeader(value[len(protobufPrefix):])
	}
	return readJSONHeader(value)
}

// readProtobufHeader reads the header of an object of any kind, because the first field of all kinds is their metadata.
func readProtobufHeader(value []byte) (dynamicstorage.Header, error) {
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(value); err != nil {
		return dynamicstorage.Header{}, fmt.Errorf("decode protobuf: %w", err)
	}
	var object metav1.PartialObjectMetadata
	if err := object.Unmarshal(envelope.Raw); err != nil {
		return dynamicstorage.Header{}, fmt.Errorf("decode protobuf: %w", err)
	}
	return headerOf(&object), nil
}

func headerOf(object metav1.Object) dynamicstorage.Header {
	return dynamicstorage.Header{
		Labels:   dynamicstorage.PairsOf(object.GetLabels()),
		Deleting: object.GetDeletionTimestamp() != nil,
	}
}

// headerMetadata is what readJSONHeader decodes of an object's metadata.
type headerMetadata struct {
	Labels            map[string]string `json:"labels"`
	DeletionTimestamp json.RawMessage   `json:"deletionTimestamp"`
}

func readJSONHeader(value []byte) (dynamicstorage.Header, error) {
	metadata, err := decodeMetadata(value)
	if err != nil {
		return dynamicstorage.Header{}, fmt.Errorf("decode JSON: %w", err)
	}
	return dynamicstorage.Header{
		Labels:   dynamicstorage.PairsOf(metadata.Labels),
		Deleting: len(metadata.DeletionTimestamp) > 0 && string(metadata.DeletionTimestamp) != "null",
	}, nil
}

// decodeMetadata decodes the metadata of an object and stops after it.
func decodeMetadata(value []byte) (metadata headerMetadata, err error) {
	decoder := json.NewDecoder(bytes.NewReader(value))
	if begin, err := decoder.Token(); err != nil {
		return metadata, err
	} else if begin != json.Delim('{') {
		return metadata, errors.New("not an object")
	}
	var skipped json.RawMessage
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return metadata, err
		}
		if name == "metadata" {
			return metadata, decoder.Decode(&metadata)
		}
		if err := decoder.Decode(&skipped); err != nil {
			return metadata, err
		}
	}
	return metadata, errors.New("object without metadata")
}
