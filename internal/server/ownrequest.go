package server

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
)

// healthPaths are open to requests without a credential.
var healthPaths = []string{"/healthz", "/livez", "/readyz"}

// ownRequest is the context key of requests that the server makes to itself. Requests from outside cannot have it.
type ownRequest struct{}

var ownUser = &user.DefaultInfo{
	Name:   user.APIServerUser,
	Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated},
}

// asOwnRequest marks the requests of a context.
func asOwnRequest(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownRequest{}, true)
}

// ownRequests authenticates requests that the server makes to itself.
var ownRequests = authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
	if req.Context().Value(ownRequest{}) == nil {
		return nil, false, nil
	}
	return &authenticator.Response{User: ownUser}, true, nil
})
