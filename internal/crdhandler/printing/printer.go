package printing

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/util/apihelpers"

	"github.com/crd-server/crd-server/internal/crdhandler/listing"
)

// Printer transforms objects into the format that a request has negotiated.
type Printer struct {
	endpoint *Endpoint
	// target is the kind to transform objects into; nil for the objects themselves.
	target *schema.GroupVersionKind
	// options are set for a Table.
	options *metav1.TableOptions
}

// NewPrinter returns the printer of a request. The error is an API error.
func (e *Endpoint) NewPrinter(mediaType *negotiation.MediaTypeOptions, req *http.Request) (Printer, error) {
	options, err := tableOptions(mediaType, req)
	return Printer{endpoint: e, target: mediaType.Convert, options: options}, err
}

// Target returns the kind that objects are transformed into; nil for the objects themselves.
func (p Printer) Target() *schema.GroupVersionKind { return p.target }

// Object returns the object to encode for obj, an object or a list. It returns a Status unchanged.
func (p Printer) Object(ctx context.Context, obj runtime.Object) (runtime.Object, error) {
	if _, isStatus := obj.(*metav1.Status); isStatus || p.target == nil {
		return obj, nil
	}
	switch p.target.Kind {
	case "Table":
		return p.table(ctx, obj)
	case "PartialObjectMetadata":
		return p.metadata(obj)
	case "PartialObjectMetadataList":
		return p.metadataList(obj)
	}
	accepted, _ := negotiation.MediaTypesForSerializer(apihelpers.GetMetaInternalVersionCodecs())
	return nil, negotiation.NewNotAcceptableError(accepted)
}

// Page returns the object to encode for a page. decode returns a page as a list of objects; metadata is made without
// it, and a Table in several steps.
func (p Printer) Page(
	ctx context.Context, page *listing.Page, decode func(*listing.Page) (runtime.Object, error),
) (runtime.Object, error) {
	if p.target != nil {
		switch p.target.Kind {
		case "PartialObjectMetadataList":
			return p.metadataOfPage(page)
		case "Table":
			return p.tableOfPage(ctx, page, decode)
		}
	}
	list, err := decode(page)
	if err != nil {
		return nil, err
	}
	return p.Object(ctx, list)
}

// notAcceptable returns the API error for a transformation that does not fit the object.
func notAcceptable(format string, args ...any) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusNotAcceptable,
		Reason:  metav1.StatusReasonNotAcceptable,
		Message: fmt.Sprintf(format, args...),
	}}
}
