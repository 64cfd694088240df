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
	"k8s.io/apimachinery/pkg/types"

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

// Metadata is the part of a stored object's metadata that decides about its deletion.
type Metadata struct {
	UID types.UID
	// Deleting: the object has a deletion timestamp.
	Deleting        bool
	Finalizers      []string
	OwnerReferences []metav1.OwnerReference
}

// ReadMetadata reads the metadata of a stored object, of a custom or built-in resource, without decoding the rest.
func ReadMetadata(value []byte) (Metadata, error) {
	if object, err := decodeMeta(value); err != nil {
		return Metadata{}, err
	} else if object != nil {
		return Metadata{
			UID: object.GetUID(), Deleting: object.GetDeletionTimestamp() != nil,
			Finalizers: object.GetFinalizers(), OwnerReferences: object.GetOwnerReferences(),
		}, nil
	}
	var m struct {
		UID               types.UID               `json:"uid"`
		DeletionTimestamp json.RawMessage         `json:"deletionTimestamp"`
		Finalizers        []string                `json:"finalizers"`
		OwnerReferences   []metav1.OwnerReference `json:"ownerReferences"`
	}
	if err := decodeJSONMetadata(value, &m); err != nil {
		return Metadata{}, err
	}
	return Metadata{
		UID: m.UID, Deleting: isSet(m.DeletionTimestamp), Finalizers: m.Finalizers, OwnerReferences: m.OwnerReferences,
	}, nil
}

// The prefixes of values that are not JSON.
var (
	cborPrefix     = []byte{0xd9, 0xd9, 0xf7}
	protobufPrefix = []byte{'k', '8', 's', 0}
)

// decodeMeta returns the metadata of a value in CBOR or protobuf; nil if it is neither.
func decodeMeta(value []byte) (metav1.Object, error) {
	switch {
	case bytes.HasPrefix(value, cborPrefix):
		var object map[string]any
		if err := direct.Unmarshal(value, &object); err != nil {
			return nil, fmt.Errorf("decode CBOR: %w", err)
		}
		return &unstructured.Unstructured{Object: object}, nil
	case bytes.HasPrefix(value, protobufPrefix):
		meta, err := protobufMetadata(value[len(protobufPrefix):])
		if err != nil {
			return nil, fmt.Errorf("decode protobuf: %w", err)
		}
		return meta, nil
	}
	return nil, nil
}

var errNoMetadata = errors.New("object without metadata")

// protobufMetadata decodes the metadata of a message in Kubernetes' envelope, of any kind: the first field of all kinds
// is their metadata.
func protobufMetadata(message []byte) (metav1.Object, error) {
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(message); err != nil {
		return nil, err
	}
	object := &metav1.PartialObjectMetadata{}
	return object, object.Unmarshal(envelope.Raw)
}

// decodeJSONMetadata decodes the metadata of an object into v and stops after it: this server writes metadata before
// spec and status.
func decodeJSONMetadata(value []byte, v any) error {
	decoder := json.NewDecoder(bytes.NewReader(value))
	if begin, err := decoder.Token(); err != nil {
		return fmt.Errorf("decode JSON: %w", err)
	} else if begin != json.Delim('{') {
		return errors.New("decode JSON: not an object")
	}
	var skipped json.RawMessage
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return fmt.Errorf("decode JSON: %w", err)
		}
		target := v
		if name != "metadata" {
			target = &skipped
		}
		if err := decoder.Decode(target); err != nil {
			return fmt.Errorf("decode JSON: %w", err)
		}
		if name == "metadata" {
			return nil
		}
	}
	return fmt.Errorf("decode JSON: %w", errNoMetadata)
}

// isSet reports whether a field has a value other than null.
func isSet(field json.RawMessage) bool { return len(field) > 0 && string(field) != "null" }
