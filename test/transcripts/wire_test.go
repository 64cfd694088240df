package transcripts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	builtin "k8s.io/client-go/kubernetes/scheme"
)

// scheme has the types that the server reads and writes as protobuf.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	utilruntime.Must(metav1.AddMetaToScheme(s))
	utilruntime.Must(apiextensions.AddToScheme(s))
	utilruntime.Must(builtin.AddToScheme(s))
	utilruntime.Must(apidiscovery.AddToScheme(s))
	return s
}()

var (
	codecs        = serializer.NewCodecFactory(scheme)
	protobufCodec = protobuf.NewSerializer(scheme, scheme)
)

func isProtobuf(contentType string) bool {
	return strings.HasPrefix(contentType, runtime.ContentTypeProtobuf)
}

// fromProtobuf returns the JSON of an object, or the error of decoding it.
func fromProtobuf(data []byte) []byte {
	object, _, err := protobufCodec.Decode(data, nil, nil)
	if err != nil {
		return fmt.Appendf(nil, "(not decoded: %v)", err)
	}
	return toJSON(object)
}

// eventFromProtobuf is the same for a frame of a watch.
func eventFromProtobuf(frame []byte) []byte {
	var event metav1.WatchEvent
	if _, _, err := protobuf.NewRawSerializer(scheme, scheme).Decode(frame, nil, &event); err != nil {
		return fmt.Appendf(nil, "(not decoded: %v)", err)
	}
	event.Object.Raw = fromProtobuf(event.Object.Raw)
	return toJSON(&event)
}

func toJSON(object any) []byte {
	data, err := json.Marshal(object)
	if err != nil {
		return []byte(err.Error())
	}
	return data
}

// toProtobuf encodes an object written as YAML.
func toProtobuf(t testing.TB, content string) string {
	t.Helper()
	data, err := encodeProtobuf([]byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// encodeProtobuf is the same, with an error if the object cannot be decoded.
func encodeProtobuf(content []byte) ([]byte, error) {
	object, kind, err := codecs.UniversalDeserializer().Decode(content, nil, nil)
	if err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(*kind)
	var out bytes.Buffer
	if err := protobufCodec.Encode(object, &out); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
