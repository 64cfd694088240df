package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	jsoniter "github.com/json-iterator/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// How values that are not JSON begin.
var (
	cborPrefix     = []byte{0xd9, 0xd9, 0xf7}
	protobufPrefix = []byte{'k', '8', 's', 0}
)

// readHeader reads of a stored object what indexes and watches need. It runs for every object that is loaded, hence stops as
// soon as it has seen the metadata, which our own encoding puts in front.
func readHeader(value []byte) (dynamicstorage.Header, error) {
	switch {
	case bytes.HasPrefix(value, cborPrefix):
		var object map[string]any
		if err := direct.Unmarshal(value, &object); err != nil {
			return dynamicstorage.Header{}, fmt.Errorf("decode CBOR: %w", err)
		}
		return headerOf(&unstructured.Unstructured{Object: object}), nil
	case bytes.HasPrefix(value, protobufPrefix): // only CustomResourceDefinitions are ever stored so
		definition, err := crds.DecodeDefinition(value, 0)
		if err != nil {
			return dynamicstorage.Header{}, err
		}
		return headerOf(definition), nil
	}
	return readJSONHeader(value)
}

func headerOf(object metav1.Object) dynamicstorage.Header {
	return dynamicstorage.Header{
		Labels:   dynamicstorage.PairsOf(object.GetLabels()),
		Deleting: object.GetDeletionTimestamp() != nil,
	}
}

func readJSONHeader(value []byte) (header dynamicstorage.Header, err error) {
	iter := jsoniter.ConfigFastest.BorrowIterator(value)
	defer jsoniter.ConfigFastest.ReturnIterator(iter)
	found := false
	iter.ReadObjectCB(func(iter *jsoniter.Iterator, field string) bool {
		if field != "metadata" {
			iter.Skip()
			return true
		}
		found = true
		readMetadata(iter, &header)
		return false
	})
	if iter.Error != nil && !(found && errors.Is(iter.Error, io.EOF)) {
		return dynamicstorage.Header{}, fmt.Errorf("decode JSON: %w", iter.Error)
	}
	if !found {
		return dynamicstorage.Header{}, errors.New("object without metadata")
	}
	return header, nil
}

func readMetadata(iter *jsoniter.Iterator, header *dynamicstorage.Header) {
	iter.ReadObjectCB(func(iter *jsoniter.Iterator, field string) bool {
		switch field {
		case "labels":
			var labels map[string]string
			iter.ReadVal(&labels)
			header.Labels = dynamicstorage.PairsOf(labels)
		case "deletionTimestamp":
			header.Deleting = iter.WhatIsNext() != jsoniter.NilValue
			iter.Skip()
		default:
			iter.Skip()
		}
		return true
	})
}
