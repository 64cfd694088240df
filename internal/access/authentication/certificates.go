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

// certificates verifies client certificates and remembers those it has verified, until they expire or the authorities
// change: verifying a chain for every request would cost as much as a whole read.
type certificates struct {
	authorities dynamiccertificates.CAContentProvider
	// generation counts the changes of the authorities; what was verified under another one does not count.
	generation atomic.Uint64
	verified   *cache.LRUExpireCache
}

var _ authenticator.Request = &certificates{}

// rememberedCertificates bounds the memory; a certificate that fell out is only verified again.
const rememberedCertificates = 4096

// verifiedKey names the certificates a client presented, at one generation of the authorities.
type verifiedKey struct {
	generation uint64
	presented  [sha256.Size]byte
}

func newCertificates(authorities dynamiccertificates.CAContentProvider) *certificates {
	c := &certificates{authorities: authorities, verified: cache.NewLRUExpireCache(rememberedCertificates)}
	authorities.AddListener(c)
	return c
}

// Enqueue hears that the authorities have changed.
func (c *certificates) Enqueue() { c.generation.Add(1) }

// AuthenticateRequest returns whom the client certificate is for: the common name is the user, the organizations are the groups.
func (c *certificates) AuthenticateRequest(req *http.Request) (*authenticator.Response, bool, error) {
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
