package serviceaccounts

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/go-jose/go-jose/v4"
	"k8s.io/apimachinery/pkg/util/sets"
)

// The paths of the documents of OpenID Connect Discovery 1.0.
const (
	ConfigurationPath = "/.well-known/openid-configuration"
	KeysPath          = "/openid/v1/jwks"
)

// maxAge is how long clients may cache the documents, in seconds.
const maxAge = 3600

// configuration is the part of a provider's metadata that is needed to verify tokens.
type configuration struct {
	Issuer        string   `json:"issuer"`
	JWKSURI       string   `json:"jwks_uri"`
	ResponseTypes []string `json:"response_types_supported"`
	SubjectTypes  []string `json:"subject_types_supported"`
	Algorithms    []string `json:"id_token_signing_alg_values_supported"`
}

// Documents returns the handlers of the documents by their paths. host is the host and port of this server. If the
// issuer is not a URL as OpenID Connect wants it, there are none, and err says why.
func (i *Issuer) Documents(host string) (map[string]http.Handler, error) {
	issuer, err := url.Parse(i.issuers[0])
	switch {
	case err != nil:
		return nil, fmt.Errorf("issuer %q: %w", i.issuers[0], err)
	case issuer.Scheme != "https":
		return nil, fmt.Errorf("issuer URL must use https scheme, got: %s", issuer)
	case issuer.RawQuery != "" || issuer.Fragment != "":
		return nil, fmt.Errorf("issuer URL may not include a query or a fragment, got: %s", issuer)
	}
	keys := i.options.JWKSURI
	if keys == "" {
		keys = (&url.URL{Scheme: "https", Host: host, Path: KeysPath}).String()
	}
	algorithms := sets.New[string]()
	for _, key := range i.keys {
		algorithms.Insert(key.Algorithm)
	}
	document := configuration{
		Issuer: i.issuers[0], JWKSURI: keys,
		ResponseTypes: []string{"id_token"}, SubjectTypes: []string{"public"},
		Algorithms: slices.Sorted(slices.Values(algorithms.UnsortedList())),
	}
	metadata, err := newDocument("application/json", document)
	if err != nil {
		return nil, err
	}
	set, err := newDocument("application/jwk-set+json", jose.JSONWebKeySet{Keys: i.keys})
	if err != nil {
		return nil, err
	}
	return map[string]http.Handler{ConfigurationPath: metadata, KeysPath: set}, nil
}

// newDocument returns a handler that serves the JSON of a value.
func newDocument(mediaType string, value any) (http.Handler, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		w.Header().Set("Cache-Control", fmt.Sprintf("public, max-age=%d", maxAge))
		_, _ = w.Write(body) // fails when the client went away
	}), nil
}
