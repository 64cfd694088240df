package serviceaccounts

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	tokenjwt "k8s.io/apiserver/pkg/authentication/token/jwt"
)

var _ authenticator.Token = &Issuer{}

// AuthenticateToken returns the user of a token. Tokens of other issuers are left to other authenticators.
func (i *Issuer) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	stated := statedIssuer(token)
	if stated == legacyIssuer {
		response, known, err := i.authenticateLegacy(ctx, token)
		if known || !slices.Contains(i.issuers, stated) {
			return response, known, err
		}
	}
	if !slices.Contains(i.issuers, stated) {
		return nil, false, nil
	}
	c, err := i.claimsOf(token)
	if c == nil || err != nil {
		return nil, false, err
	}
	audiences, err := i.intersect(ctx, c.Audience)
	if err != nil {
		return nil, false, err
	}
	info, err := i.check(ctx, c)
	if err != nil {
		return nil, false, err
	}
	return &authenticator.Response{User: info.UserInfo(), Audiences: audiences}, true, nil
}

// statedIssuer returns the issuer that a token names, before its signature is verified; "" if it is no JWT.
func statedIssuer(token string) string {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var stated struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(payload, &stated) != nil {
		return ""
	}
	return stated.Issuer
}

// claimsOf returns the claims of a token that one of the keys has signed; nil if it is no token of ours. The caller
// must not modify them.
func (i *Issuer) claimsOf(token string) (*claims, error) {
	hash := sha256.Sum256([]byte(token))
	if known, ok := i.verified.Get(hash); ok {
		return known.(*claims), nil
	}
	// Without algorithms of shared secrets, nobody can sign with a public key. "none" is not one of them either.
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return nil, nil //nolint:nilerr // another authenticator may know the token
	}
	c := &claims{}
	if err := i.verify(parsed, &c.Claims, &c.privateClaims); err != nil {
		return nil, err
	}
	if !slices.Contains(i.issuers, c.Issuer) {
		return nil, fmt.Errorf("token issuer %q is invalid", c.Issuer)
	}
	if c.Expiry != nil {
		if rest := c.Expiry.Time().Add(jwt.DefaultLeeway).Sub(i.now()); rest > 0 {
			i.verified.Add(hash, c, rest)
		}
	}
	return c, nil
}

// verify reads the claims of a token that one of the keys has signed. A token without the ID of a key may be of any.
func (i *Issuer) verify(token *jwt.JSONWebToken, into ...any) error {
	candidates := i.keys
	if id := token.Headers[0].KeyID; id != "" {
		key, ok := i.byID[id]
		if !ok {
			return errors.New("invalid signature, no keys found")
		}
		candidates = []jose.JSONWebKey{key}
	}
	var errs []error
	for _, key := range candidates {
		err := errors.New("the key is for another algorithm")
		if token.Headers[0].Algorithm == key.Algorithm {
			err = token.Claims(key.Key, into...)
		}
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// intersect returns the audiences that a token is for, of those that the caller asks for: those of this server, unless
// the context has others, as that of a TokenReview.
func (i *Issuer) intersect(ctx context.Context, claimed []string) (authenticator.Audiences, error) {
	wanted, ok := authenticator.AudiencesFrom(ctx)
	if !ok {
		wanted = i.audiences
	}
	common := authenticator.Audiences(claimed).Intersect(wanted)
	if len(common) == 0 {
		return nil, fmt.Errorf("token audiences %q is invalid for the target audiences %q", claimed, wanted)
	}
	return common, nil
}

// check returns the account of a token, if the token is valid now.
func (i *Issuer) check(ctx context.Context, c *claims) (*serviceaccount.ServiceAccountInfo, error) {
	now := i.now()
	switch err := c.Validate(jwt.Expected{Time: now}); {
	case errors.Is(err, jwt.ErrExpired):
		return nil, errors.New("service account token has expired")
	case errors.Is(err, jwt.ErrNotValidYet):
		return nil, errors.New("service account token is not valid yet")
	case errors.Is(err, jwt.ErrIssuedInTheFuture):
		return nil, errors.New("service account token is issued in the future")
	case err != nil:
		return nil, fmt.Errorf("service account token claims could not be validated: %w", err)
	}
	if err := i.checkBound(ctx, &c.Kubernetes, now.Add(-jwt.DefaultLeeway)); err != nil {
		return nil, err
	}
	if after := c.Kubernetes.WarnAfter; after != nil && *after != 0 && now.After(after.Time()) {
		audit.AddAuditAnnotation(ctx, "authentication.k8s.io/stale-token",
			fmt.Sprintf("subject: %s, seconds after warning threshold: %d", c.Subject, now.Unix()-after.Time().Unix()))
	}
	info := &serviceaccount.ServiceAccountInfo{
		Namespace: c.Kubernetes.Namespace, Name: c.Kubernetes.Account.Name, UID: c.Kubernetes.Account.UID,
		CredentialID: tokenjwt.CredentialIDForJTI(c.ID),
	}
	if pod := c.Kubernetes.Pod; pod != nil {
		info.PodName, info.PodUID = pod.Name, pod.UID
	}
	if node := c.Kubernetes.Node; node != nil {
		info.NodeName, info.NodeUID = node.Name, node.UID
	}
	return info, nil
}
