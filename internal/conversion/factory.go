package conversion

import (
	"errors"
	"fmt"

	"golang.org/x/sync/semaphore"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/crd-server/crd-server/internal/validation"
)

// Factory makes converters. It is safe for concurrent use.
type Factory struct {
	upstream *conversion.CRConverterFactory
}

// NewFactory returns a factory. Its converters resolve webhooks that are Services with serviceResolver, and
// authenticate to webhooks with auth.
func NewFactory(
	serviceResolver webhook.ServiceResolver, auth webhook.AuthenticationInfoResolverWrapper,
) (*Factory, error) {
	upstream, err := conversion.NewCRConverterFactory(serviceResolver, bounded(auth))
	if err != nil {
		return nil, fmt.Errorf("conversion: %w", err)
	}
	return &Factory{upstream: upstream}, nil
}

// New returns the converter of a CRD. The converter coerces objects with set. New fails if spec.conversion is unusable,
// for example because the CA bundle has no certificate.
func (f *Factory) New(crd *apiextensionsv1.CustomResourceDefinition, set *validation.Set) (*Converter, error) {
	crd, err := withConversion(crd)
	if err != nil {
		return nil, err
	}
	safe, unsafe, err := f.upstream.NewConverter(crd)
	if err != nil {
		return nil, fmt.Errorf("conversion of CustomResourceDefinition %s: %w", crd.Name, err)
	}
	inPlace := crd.Spec.Conversion.Strategy == apiextensionsv1.NoneConverter
	if !inPlace {
		safe, unsafe = limited{safe}, limited{unsafe}
	}
	return &Converter{
		set:     set,
		safe:    safe,
		unsafe:  unsafe,
		inPlace: inPlace,
		calls:   semaphore.NewWeighted(maxCalls),
	}, nil
}

// withConversion sets the defaults of spec.conversion, without which the library would panic. The CRD endpoint sets
// them too, but the CRD may have been stored by another program. See docs/upstream.md, "Panic on a CRD without
// conversion".
func withConversion(crd *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	conversion := crd.Spec.Conversion
	switch {
	case conversion == nil:
		defaulted := *crd
		defaulted.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
		return &defaulted, nil
	case conversion.Strategy != apiextensionsv1.WebhookConverter:
		return crd, nil
	case conversion.Webhook == nil || conversion.Webhook.ClientConfig == nil:
		return nil, fmt.Errorf("conversion of CustomResourceDefinition %s: %w", crd.Name, errNoWebhook)
	}
	if service := conversion.Webhook.ClientConfig.Service; service != nil && service.Port == nil {
		defaulted := crd.DeepCopy()
		port := int32(443)
		defaulted.Spec.Conversion.Webhook.ClientConfig.Service.Port = &port
		return defaulted, nil
	}
	return crd, nil
}

var errNoWebhook = errors.New("spec.conversion.webhook.clientConfig is missing")
