package core

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// TokenSubresource is the subresource that issues tokens of service accounts.
func TokenSubresource() resource.Subresource {
	return resource.Subresource{Name: "token", Action: &resource.Action{
		Object: &authenticationv1.TokenRequest{}, Default: defaultTokenRequest,
		// A request may say for which account it is.
		KeepsSystemFields: true,
	}}
}

// defaultTokenRequest sets the expiration that a request leaves out.
func defaultTokenRequest(obj runtime.Object) {
	spec := &obj.(*authenticationv1.TokenRequest).Spec
	if spec.ExpirationSeconds == nil {
		hour := int64(60 * 60)
		spec.ExpirationSeconds = &hour
	}
}
