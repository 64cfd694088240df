package server

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	serveradmission "github.com/crd-server/crd-server/internal/access/admission"
)

// Extensions are parts of a program that embeds the server. All of them may be missing.
type Extensions struct {
	// Authenticator finds the user of requests that no other authenticator recognizes.
	Authenticator authenticator.Request
	// Authorizer decides before all others but for the group system:masters and the health checks.
	Authorizer authorizer.Authorizer
	// Admission are plugins that admit objects, before webhooks and policies do.
	Admission []admission.Interface
	// Handlers serve further paths, by their prefix.
	Handlers map[string]http.Handler
}

// admit returns the plugins in front of those of the server, which may be nil; nil without any.
func (e *Extensions) admit(own *serveradmission.Admission) admission.Interface {
	if len(e.Admission) == 0 && own == nil {
		return nil
	}
	if len(e.Admission) == 0 {
		return own
	}
	all := slices.Clone(e.Admission)
	if own != nil {
		all = append(all, own)
	}
	return admission.NewChainHandler(all...)
}

// validate returns every mistake in the paths.
func (e *Extensions) validate() []error {
	var all mistakes
	for _, prefix := range slices.Sorted(maps.Keys(e.Handlers)) {
		wrong := len(prefix) < 2 || prefix[0] != '/' || strings.HasSuffix(prefix, "/") || strings.ContainsAny(prefix, "{}*")
		all.add(wrong, "the path %q of a handler is not of the form /name, without a slash at the end", prefix)
		all.add(e.Handlers[prefix] == nil, "the handler of the path %q is nil", prefix)
	}
	return all
}

// route adds the handlers to the routes of the server. It returns their paths.
func (e *Extensions) route(mux chi.Router) ([]string, error) {
	paths := slices.Sorted(maps.Keys(e.Handlers))
	for _, prefix := range paths {
		if isBelowVersion(prefix) || mux.Match(chi.NewRouteContext(), http.MethodGet, prefix) {
			return nil, fmt.Errorf("the path %s of a handler is one of the server's own", prefix)
		}
	}
	for _, prefix := range paths {
		mux.Handle(prefix, e.Handlers[prefix])
		mux.Handle(prefix+"/*", e.Handlers[prefix])
	}
	return paths, nil
}
