package reviews

import (
	"encoding/hex"
	"fmt"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/warning"

	"github.com/crd-server/crd-server/internal/budget"
	"github.com/crd-server/crd-server/internal/wire"
)

var scheme = func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(authenticationv1.AddToScheme(scheme))
	utilruntime.Must(authorizationv1.AddToScheme(scheme))
	v1 := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, v1)
	scheme.AddUnversionedTypes(v1, &metav1.Status{})
	return scheme
}()

var codecs = wire.NewCodecs(scheme)

// maxBody is kube-apiserver's limit of a request's body, in bytes.
const maxBody = 3 << 20

// decode decodes the body of a request. Errors are kube-apiserver's.
func decode(req *http.Request, into runtime.Object) (runtime.Object, error) {
	format, err := negotiation.NegotiateInputSerializer(req, false, codecs)
	if err != nil {
		return nil, err
	}
	body, err := wire.ReadBody(req, maxBody)
	if apierrors.IsRequestEntityTooLargeError(err) {
		return nil, err
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := budget.Reserve(req.Context(), len(body)); err != nil {
		return nil, err
	}
	kinds, _, err := scheme.ObjectKinds(into)
	if err != nil {
		return nil, err
	}
	expected := kinds[0]
	obj, found, err := codecs.DecoderToVersion(format.StrictSerializer, expected.GroupVersion()).Decode(body, &expected,
		into)
	if err != nil && obj != nil && runtime.IsStrictDecodingError(err) {
		err = forgive(req, err)
	}
	if err != nil {
		return nil, notDecoded(err, found, expected.Kind, body)
	}
	if found.GroupVersion() != expected.GroupVersion() {
		return nil, apierrors.NewBadRequest(fmt.Sprintf(
			"the API version in the data (%s) does not match the expected API version (%s)",
			found.GroupVersion(), expected.GroupVersion()))
	}
	if found.Kind != expected.Kind {
		return nil, notDecoded(fmt.Errorf("expected kind %s", expected.Kind), found, expected.Kind, body)
	}
	return obj, nil
}

// forgive turns errors about unknown fields into warnings, unless the client asks for errors or silence.
func forgive(req *http.Request, err error) error {
	switch req.URL.Query().Get("fieldValidation") {
	case metav1.FieldValidationStrict:
		return err
	case metav1.FieldValidationIgnore:
		return nil
	}
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		for _, one := range strict.Errors() {
			warning.AddWarning(req.Context(), "", one.Error())
		}
	}
	return nil
}

// notDecoded returns the error for a body that is not the expected review.
func notDecoded(err error, found *schema.GroupVersionKind, expected string, body []byte) error {
	if found != nil && found.Kind != "" {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v", found.Kind,
			found.Version, expected, err))
	}
	const most = 1024
	beginning := "<empty>"
	if len(body) > 0 {
		beginning = hex.EncodeToString(body[:min(len(body), most)])
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)",
		expected, err, beginning))
}
