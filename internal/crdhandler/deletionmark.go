package crdhandler

import (
	"bytes"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
)

// beingDeleted says whether a stored object waits for its finalizers. Values that cannot be read do not.
func beingDeleted(value []byte) bool {
	var stored struct {
		Metadata struct {
			DeletionTimestamp *metav1.Time `json:"deletionTimestamp"`
		} `json:"metadata"`
	}
	unmarshal := json.Unmarshal
	if bytes.HasPrefix(value, cborPrefix) {
		unmarshal = cbor.Unmarshal
	}
	return unmarshal(value, &stored) == nil && stored.Metadata.DeletionTimestamp != nil
}
