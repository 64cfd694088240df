package authentication

import (
	"crypto/sha256"
	"crypto/x509"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// certificates verifies client certificates. It caches the result until the certificate expires or the authorities
// change, because verifying a chain for every request would cost as much as a whole read.
type certificates struct {
	authorities dynamiccertificates.CAContentProvider
	removed     Removed // may be nil
	// generation counts the changes of the authorities. Results of other generations are not used.
	generation atomic.Uint64
	verified   *cache.LRUExpireCache
}

var _ authenticator.Request = &certificates{}

// maxVerified bounds the cache. A certificate that was evicted is verified again.
const maxVerified = 4096

// verifiedKey identifies the certificates of a client, in one generation of the authorities.
type verifiedKey struct {
	generation uint64
	presented  [sha256.Size]byte
}

func newCertificates(authorities dynamiccertificates.CAContentProvider, removed Removed) *certificates {
	c := &certificates{
		authorities: authorities, removed: removed, verified: cache.NewLRUExpireCache(maxVerified),
	}
	authorities.AddListener(c)
	return c
}

// Enqueue implements dynamiccertificates.Listener: the authorities have changed.
func (c *certificates) Enqueue() { c.generation.Add(1) }

// AuthenticateRequest returns the user of the client certificate: its common name. The organizations are the groups. A
// certificate that was removed is refused.
func (c *certificates) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
	response, ok, err := c.verify(req)
	if !ok || err != nil || c.removed == nil {
		return response, ok, err
	}
	if err := c.removed.Refuse(req.Context(), response.User); err != nil {
		return nil, false, err
	}
	return response, true, nil
}

// verify returns the user of the client certificate if the authorities have signed it.
func (c *certificates) verify(req *http.Request) (*authenticator.Response, bool, error) {
	if req.TLS == nil || len(req.TLS.PeerCertificates) == 0 {
		return nil, false, nil
	}
	// The generation is read before the authorities. If they change in between, the result belongs to a past
	// generation.
	key := verifiedKey{c.generation.Load(), fingerprint(req.TLS.PeerCertificates)}
	if known, ok := c.verified.Get(key); ok {
		response := known.(authenticator.Response) // a copy: the caller sets its audiences
		return &response, true, nil
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
		c.verified.Add(key, *response, time.Until(expires))
	}
	return response, ok, err
}

func fingerprint(presented []*x509.Certificate) (sum [sha256.Size]byte) {
	if len(presented) == 1 {
		return sha256.Sum256(presented[0].Raw)
	}
	h := sha256.New()
	for _, c := range presented {
		h.Write(c.Raw)
	}
	h.Sum(sum[:0])
	return sum
}

func earliestExpiry(chain []*x509.Certificate) time.Time {
	return slices.MinFunc(chain, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) }).NotAfter
}
