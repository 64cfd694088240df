package main

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
)

// builtinKind is a built-in kind that the part builtin measures.
type builtinKind struct {
	name           string
	prefix, plural string
	new            func(meta metav1.ObjectMeta) runtime.Object
}

// collection is the path of the objects in a namespace.
func (k builtinKind) collection(namespace string) string {
	return k.prefix + "/namespaces/" + namespace + "/" + k.plural
}

// object returns an object.
func (k builtinKind) object(namespace, name string) runtime.Object {
	return k.new(metav1.ObjectMeta{
		Namespace: namespace, Name: name,
		Labels: map[string]string{"app.kubernetes.io/name": "bench", "app.kubernetes.io/part-of": "bench"},
	})
}

// The kinds.
var (
	secrets    = builtinKind{name: "Secret", prefix: "/api/v1", plural: "secrets", new: newSecret}
	configMaps = builtinKind{name: "ConfigMap", prefix: "/api/v1", plural: "configmaps", new: newConfigMap}
	leases     = builtinKind{name: "Lease", prefix: "/apis/coordination.k8s.io/v1", plural: "leases", new: newLease}
)

// newSecret returns a credential.
func newSecret(meta metav1.ObjectMeta) runtime.Object {
	token := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(meta.Name, 50)))
	return &corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{
		"username": []byte("bench"), "password": []byte(meta.Name), "token": []byte(token),
	}}
}

// newConfigMap returns a configuration of 2 KB.
func newConfigMap(meta metav1.ObjectMeta) runtime.Object {
	return &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{
		"level": "info", "config.yaml": strings.Repeat("option-of-"+meta.Name+": value\n", 60),
	}}
}

// newLease returns the lock of a leader.
func newLease(meta metav1.ObjectMeta) runtime.Object {
	acquired := metav1.NewMicroTime(time.Unix(1e9, 0))
	return &coordinationv1.Lease{ObjectMeta: meta, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("bench-5d8f7c9b6-x2x4z_" + meta.Name), LeaseDurationSeconds: ptr.To[int32](15),
		AcquireTime: &acquired, RenewTime: &acquired, LeaseTransitions: ptr.To[int32](0),
	}}
}

// format is a media type of objects.
type format struct {
	name, mediaType string
	encoder         runtime.Encoder
}

// formats returns JSON and protobuf.
func formats() ([]format, error) {
	all := []format{{name: "JSON", mediaType: asJSON}, {name: "protobuf", mediaType: runtime.ContentTypeProtobuf}}
	for n, f := range all {
		info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), f.mediaType)
		if !ok {
			return nil, fmt.Errorf("client-go has no serializer for %s", f.mediaType)
		}
		all[n].encoder = info.Serializer
	}
	return all, nil
}

// encode returns the body of an object.
func (f format) encode(obj runtime.Object) ([]byte, error) {
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(kinds[0])
	return runtime.Encode(f.encoder, obj)
}

// decode returns the object or list in a response, whatever its format.
func decode(body []byte) (runtime.Object, error) {
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	return obj, err
}
