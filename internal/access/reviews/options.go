package reviews

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// checkOptions returns an error if the options of a request are invalid. Reviews are not stored, so a dry run is the
// same as any other.
func checkOptions(req *http.Request) error {
	options := &metav1.CreateOptions{}
	codec := metainternalversion.ParameterCodec
	if err := codec.DecodeParameters(req.URL.Query(), metav1.SchemeGroupVersion, options); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if errs := validation.ValidateCreateOptions(options); len(errs) > 0 {
		kind := schema.GroupKind{Group: metav1.GroupName, Kind: "CreateOptions"}
		return apierrors.NewInvalid(kind, "", errs)
	}
	return nil
}
