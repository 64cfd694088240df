package builtin_test

import (
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// TestStorageInBeta reads a bundle as kube-apiserver stores it, in protobuf and in a beta version, and stores another
// one in that version.
func TestStorageInBeta(t *testing.T) {
	t.Parallel()
	set, err := set()
	if err != nil {
		t.Fatal(err)
	}
	d := set.Find(certificatesv1.Resource("clustertrustbundles"))
	codec := set.Codec(d)
	stored := &certificatesv1beta1.ClusterTrustBundle{
		TypeMeta:   metav1.TypeMeta{APIVersion: "certificates.k8s.io/v1beta1", Kind: "ClusterTrustBundle"},
		ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1"},
		Spec:       certificatesv1beta1.ClusterTrustBundleSpec{SignerName: "example.com/s", TrustBundle: "x"},
	}
	value, err := runtime.Encode(protobuf.NewSerializer(set.Scheme, set.Scheme), stored)
	if err != nil {
		t.Fatal(err)
	}
	obj, err := codec.Object(&dynamicstorage.Entry{Value: value, Revision: 7})
	if err != nil {
		t.Fatal(err)
	}
	bundle, ok := obj.(*certificatesv1.ClusterTrustBundle)
	if !ok || bundle.Name != "a" || bundle.ResourceVersion != "7" || bundle.Spec.SignerName != "example.com/s" {
		t.Fatalf("read %T %+v", obj, obj)
	}
	value, view, err := codec.Encode(t.Context(), bundle)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(value), `{"kind":"ClusterTrustBundle","apiVersion":"certificates.k8s.io/v1beta1",`) ||
		!strings.HasPrefix(string(view.Bytes), `{"kind":"ClusterTrustBundle","apiVersion":"certificates.k8s.io/v1",`) {
		t.Errorf("stored %s, served %s", value, view.Bytes)
	}
}
