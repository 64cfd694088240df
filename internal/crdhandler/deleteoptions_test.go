package crdhandler

import (
	"bytes"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/util/apihelpers"
)

func TestDeleteOptionsInProtobuf(t *testing.T) {
	t.Parallel()
	uid := types.UID("u")
	info, ok := runtime.SerializerInfoForMediaType(apihelpers.GetMetaInternalVersionCodecs().SupportedMediaTypes(),
		runtime.ContentTypeProtobuf)
	if !ok {
		t.Fatal("no protobuf")
	}
	body, err := runtime.Encode(apihelpers.GetMetaInternalVersionCodecs().EncoderForVersion(info.Serializer,
		metav1.SchemeGroupVersion),
		&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequest("DELETE", "/", bytes.NewReader(body))
	req.Header.Set("Content-Type", runtime.ContentTypeProtobuf)
	options, err := (&requestScope{config: &Config{}}).decodeDeleteOptions(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if options.Preconditions == nil || *options.Preconditions.UID != uid {
		t.Errorf("got %v", options)
	}
}

// FuzzDeleteOptions checks that no options make the decoder panic.
func FuzzDeleteOptions(f *testing.F) {
	for _, body := range []string{
		``, `{}`, `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":-1,"preconditions":{"uid":"x"}}`,
		`{"dryRun":["All"],"propagationPolicy":"Orphan"}`,
		"kind: DeleteOptions\napiVersion: example.com/v1\n", "k8s\x00", `[]`, `null`,
	} {
		f.Add(byte(0), body, "dryRun=All")
		f.Add(byte(1), body, "propagationPolicy=x&orphanDependents=maybe")
		f.Add(byte(2), body, "gracePeriodSeconds=ten")
	}
	contentTypes := []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf, ""}
	scope := &requestScope{config: &Config{MaxRequestBodyBytes: 1 << 10}}
	f.Fuzz(func(t *testing.T, contentType byte, body, query string) {
		req := httptest.NewRequest("DELETE", "/", bytes.NewReader([]byte(body)))
		req.URL.RawQuery = query
		req.Header.Set("Content-Type", contentTypes[int(contentType)%len(contentTypes)])
		options, err := scope.decodeDeleteOptions(t.Context(), req)
		if (err == nil) != (options != nil && options.Kind == "DeleteOptions") {
			t.Errorf("got %v, %v", options, err)
		}
	})
}
