package authentication

import (
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// frontProxy accepts the headers of a proxy with a client certificate.
type frontProxy struct {
	config  *authenticatorfactory.RequestHeaderConfig
	proxies *certificates
	headers authenticator.Request
}

var _ authenticator.Request = &frontProxy{}

func newFrontProxy(config *authenticatorfactory.RequestHeaderConfig) *frontProxy {
	return &frontProxy{
		config:  config,
		proxies: newCertificates(config.CAContentProvider, nil),
		headers: headerrequest.NewDynamic(config.UsernameHeaders, config.UIDHeaders, config.GroupHeaders,
			config.ExtraHeaderPrefixes),
	}
}

// AuthenticateRequest returns the user that the proxy names. A request without such a header is not from a proxy, so
// its certificate is not verified.
func (p *frontProxy) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	named := func(header string) bool { return req.Header.Get(header) != "" }
	if !slices.ContainsFunc(p.config.UsernameHeaders.Value(), named) {
		return nil, false, nil
	}
	proxy, ok, err := p.proxies.AuthenticateRequest(req)
	if err != nil || !ok {
		return nil, false, err
	}
	if allowed := p.config.AllowedClientNames.Value(); len(allowed) > 0 &&
		!slices.Contains(allowed, proxy.User.GetName()) {
		return nil, false, fmt.Errorf("x509: subject with cn=%s is not in the allowed list", proxy.User.GetName())
	}
	return p.headers.AuthenticateRequest(req)
}

// requestHeaders returns the configuration of front proxies by flags; nil without the flags.
func (o *FrontProxyOptions) requestHeaders() (*authenticatorfactory.RequestHeaderConfig,
	*dynamiccertificates.DynamicFileCAContent, error) {
	if o.ClientCAFile == "" {
		return nil, nil, nil
	}
	authorities, err := dynamiccertificates.NewDynamicCAContentFromFile("request-header", o.ClientCAFile)
	if err != nil {
		return nil, nil, fmt.Errorf("--requestheader-client-ca-file %s: certificate is unreadable: %w", o.ClientCAFile, err)
	}
	return &authenticatorfactory.RequestHeaderConfig{
		UsernameHeaders:     headerrequest.StaticStringSlice(o.UsernameHeaders),
		UIDHeaders:          headerrequest.StaticStringSlice(o.UIDHeaders),
		GroupHeaders:        headerrequest.StaticStringSlice(o.GroupHeaders),
		ExtraHeaderPrefixes: headerrequest.StaticStringSlice(o.ExtraPrefix),
		AllowedClientNames:  headerrequest.StaticStringSlice(o.AllowedNames),
		CAContentProvider:   authorities,
	}, authorities, nil
}
