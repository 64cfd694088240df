package authentication

import (
	"crypto/x509"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
)

// foundCA is the authorities in the ConfigMap of a host cluster. The controller of k8s.io/apiserver knows them only
// some time after its start. Until then clients would get 401, which they do not retry. So the authorities read at
// the start are used until the controller knows them.
type foundCA struct {
	*dynamiccertificates.ConfigMapCAController
	key string
	// first is the authorities read at the start; nil if there were none. It is set before the first request.
	first dynamiccertificates.CAContentProvider
}

var _ dynamiccertificates.CAContentProvider = &foundCA{}

func newFoundCA(purpose, key string, client kubernetes.Interface) (*foundCA, error) {
	controller, err := dynamiccertificates.NewDynamicCAFromConfigMapController(purpose, configMapNamespace, configMapName,
		key, client)
	if err != nil {
		return nil, err
	}
	return &foundCA{ConfigMapCAController: controller, key: key}, nil
}

// begin sets the authorities read at the start.
func (f *foundCA) begin(found *corev1.ConfigMap) (err error) {
	if bundle := found.Data[f.key]; bundle != "" {
		f.first, err = dynamiccertificates.NewStaticCAContent(f.Name(), []byte(bundle))
	}
	return err
}

// CurrentCABundleContent returns the authorities in PEM.
func (f *foundCA) CurrentCABundleContent() []byte {
	if content := f.ConfigMapCAController.CurrentCABundleContent(); content != nil || f.first == nil {
		return content
	}
	return f.first.CurrentCABundleContent()
}

// VerifyOptions returns how certificates of the authorities are verified; false if there are none.
func (f *foundCA) VerifyOptions() (x509.VerifyOptions, bool) {
	if options, ok := f.ConfigMapCAController.VerifyOptions(); ok || f.first == nil {
		return options, ok
	}
	return f.first.VerifyOptions()
}
