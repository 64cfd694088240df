package openapi

import (
	"net/http"
	"slices"

	"github.com/emicklei/go-restful/v3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	builtin "github.com/crd-server/crd-server/internal/builtin/resource"
)

// text is the model of a response without a schema.
const text = model("string")

// issuerRoutes are the routes at which the issuer of tokens of service accounts is published, by the path of their
// document.
var issuerRoutes = map[string]*restful.Route{
	".well-known/openid-configuration": {
		Method: http.MethodGet, Path: "/.well-known/openid-configuration/",
		Operation: "getServiceAccountIssuerOpenIDConfiguration",
		Doc:       "get service account issuer OpenID configuration, also known as the 'OIDC discovery doc'",
		Produces:  []string{runtime.ContentTypeJSON}, ResponseErrors: respond(text, http.StatusOK),
	},
	"openid/v1/jwks": {
		Method: http.MethodGet, Path: "/openid/v1/jwks/", Operation: "getServiceAccountIssuerOpenIDKeyset",
		Doc:      "get service account issuer OpenID JSON Web Key Set (contains public token verification keys)",
		Produces: []string{"application/jwk-set+json"}, ResponseErrors: respond(text, http.StatusOK),
	},
}

// issuesTokens reports whether one of some resources is that of service accounts.
func issuesTokens(rows []*builtin.Definition) bool {
	return slices.ContainsFunc(rows, func(d *builtin.Definition) bool {
		return d.GroupVersion == corev1.SchemeGroupVersion && d.Kind == "ServiceAccount"
	})
}
