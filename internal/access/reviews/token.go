package reviews

import (
	"context"
	"errors"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
)

// Tokens finds the users of tokens.
type Tokens struct {
	// Request authenticates requests by their bearer tokens; nil if the server accepts no tokens.
	Request authenticator.Request
	// Audiences are those of this server: what a token must be for if the review names no audiences.
	Audiences authenticator.Audiences
}

// token finds the user of the token of the review.
func (h *handler) token(ctx context.Context, _ user.Info, obj runtime.Object) (runtime.Object, error) {
	r := obj.(*authenticationv1.TokenReview)
	if r.Spec.Token == "" {
		return nil, apierrors.NewBadRequest("token is required for TokenReview in authentication")
	}
	if h.tokens.Request == nil {
		return r, nil
	}
	audiences := authenticator.Audiences(r.Spec.Audiences)
	if len(audiences) == 0 {
		audiences = h.tokens.Audiences
	}
	found, ok, err := h.tokens.of(ctx, r.Spec.Token, audiences)
	r.Status.Authenticated = ok
	if err != nil {
		r.Status.Error = err.Error()
	}
	if found == nil || found.User == nil {
		return r, nil
	}
	if len(audiences) > 0 && len(audiences.Intersect(found.Audiences)) == 0 {
		return nil, errWrongAudiences
	}
	r.Status.User, r.Status.Audiences = userInfo(found.User), found.Audiences
	return r, nil
}

// errWrongAudiences is a mistake of an authenticator: the token is for none of the audiences that it was asked about.
var errWrongAudiences = apierrors.NewInternalError(errors.New("error validating audiences"))

// of returns the user of a token. The authenticators see a request that has nothing but the token: they must not find
// the user of the review's own request.
func (t *Tokens) of(
	ctx context.Context, token string, audiences authenticator.Audiences,
) (*authenticator.Response, bool, error) {
	alone, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	if len(audiences) > 0 {
		alone = authenticator.WithAudiences(alone, audiences)
	}
	req := &http.Request{Header: http.Header{"Authorization": {"Bearer " + token}}}
	return t.Request.AuthenticateRequest(req.WithContext(alone))
}

func userInfo(u user.Info) authenticationv1.UserInfo {
	info := authenticationv1.UserInfo{Username: u.GetName(), UID: u.GetUID(), Groups: u.GetGroups()}
	for key, values := range u.GetExtra() {
		if info.Extra == nil {
			info.Extra = map[string]authenticationv1.ExtraValue{}
		}
		info.Extra[key] = values
	}
	return info
}
