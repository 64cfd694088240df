package server

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/union"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	cliflag "k8s.io/component-base/cli/flag"
)

// healthPaths answer without a credential.
var healthPaths = []string{"/healthz", "/livez", "/readyz"}

// newAuthenticator asks in turn: is the request our own, who does its client certificate name, may it be anonymous.
func newAuthenticator(o *AuthenticationOptions, clientCA dynamiccertificates.CAContentProvider) authenticator.Request {
	authenticators := []authenticator.Request{
		authenticator.RequestFunc(authenticateOwn),
		newClientCertificates(clientCA),
	}
	switch o.Anonymous {
	case cliflag.Unset:
		conditions := make([]apiserver.AnonymousAuthCondition, 0, len(healthPaths))
		for _, path := range healthPaths {
			conditions = append(conditions, apiserver.AnonymousAuthCondition{Path: path})
		}
		authenticators = append(authenticators, anonymous.NewAuthenticator(conditions))
	case cliflag.True:
		authenticators = append(authenticators, anonymous.NewAuthenticator(nil))
	}
	return union.New(authenticators...)
}

// ownRequest marks, in a context, a request that the server makes to itself. No request from outside can carry it.
type ownRequest struct{}

var ownUser = &user.DefaultInfo{
	Name:   user.APIServerUser,
	Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated},
}

func asOwnRequest(ctx context.Context) context.Context {
	return context.WithValue(ctx, ownRequest{}, true)
}

func authenticateOwn(req *http.Request) (*authenticator.Response, bool, error) {
	if req.Context().Value(ownRequest{}) == nil {
		return nil, false, nil
	}
	return &authenticator.Response{User: ownUser}, true, nil
}

// clientCertificates authenticates by client certificate and remembers those it has verified: verifying the chain for
// every request would cost as much as a whole read.
type clientCertificates struct {
	authorities dynamiccertificates.CAContentProvider
	// generation counts the changes of the authorities; what was verified under another one does not count.
	generation atomic.Uint64
	verified   *cache.LRUExpireCache
}

// rememberedCertificates bounds the memory; a certificate that fell out is only verified again.
const rememberedCertificates = 4096

// verifiedKey names the certificates a client presented, at one generation of the authorities.
type verifiedKey struct {
	generation uint64
	presented  [sha256.Size]byte
}

func newClientCertificates(authorities dynamiccertificates.CAContentProvider) *clientCertificates {
	c := &clientCertificates{authorities: authorities, verified: cache.NewLRUExpireCache(rememberedCertificates)}
	authorities.AddListener(c)
	return c
}

// Enqueue hears that the authorities have changed.
func (c *clientCertificates) Enqueue() { c.generation.Add(1) }

// AuthenticateRequest implements authenticator.Request.
func (c *clientCertificates) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	if req.TLS == nil || len(req.TLS.PeerCertificates) == 0 {
		return nil, false, nil
	}
	// The generation is read before the authorities: should they change in between, the result is filed under a past one.
	key := verifiedKey{c.generation.Load(), fingerprint(req.TLS.PeerCertificates)}
	if known, ok := c.verified.Get(key); ok {
		return known.(*authenticator.Response), true, nil
	}
	options, ok := c.authorities.VerifyOptions()
	if !ok {
		return nil, false, nil
	}
	var expires time.Time
	verifier := x509request.New(options, x509request.UserConversionFunc(
		func(chain []*x509.Certificate) (*authenticator.Response, bool, error) {
			expires = earliestExpiry(chain)
			return x509request.CommonNameUserConversion(chain)
		}))
	response, ok, err := group.NewAuthenticatedGroupAdder(verifier).AuthenticateRequest(req)
	if ok && err == nil {
		c.verified.Add(key, response, time.Until(expires))
	}
	return response, ok, err
}

func fingerprint(certificates []*x509.Certificate) (sum [sha256.Size]byte) {
	if len(certificates) == 1 {
		return sha256.Sum256(certificates[0].Raw)
	}
	h := sha256.New()
	for _, c := range certificates {
		h.Write(c.Raw)
	}
	h.Sum(sum[:0])
	return sum
}

func earliestExpiry(chain []*x509.Certificate) time.Time {
	earliest := chain[0].NotAfter
	for _, c := range chain[1:] {
		if c.NotAfter.Before(earliest) {
			earliest = c.NotAfter
		}
	}
	return earliest
}
