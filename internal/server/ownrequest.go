package server

import (
	"context"
	"net/http"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
)

// healthPaths answer without a credential.
var healthPaths = []string{"/healthz", "/livez", "/readyz"}

// ownRequest marks, in a context, a request that the server makes to itself. No request from outside can carry it.
type ownRequest struct{}

var ownUser = &user.DefaultInfo{
	Name:   user.APIServerUser,
	Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated},
}

func asOwnRequest(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownRequest{}, true)
}

// ownRequests authenticates the server's requests to itself.
var ownRequests = authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
	if req.Context().Value(ownRequest{}) == nil {
		return nil, false, nil
	}
	return &authenticator.Response{User: ownUser}, true, nil
})
