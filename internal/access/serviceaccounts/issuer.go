package serviceaccounts

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
)

// Objects reads the objects that tokens are bound to, and labels Secrets.
type Objects interface {
	// Get returns an object of core/v1, or the NotFound error of its resource. The object is of a Go type of k8s.io/api.
	// The state is that of etcd if fresh, else that of the cache.
	Get(ctx context.Context, ref ObjectRef, fresh bool) (metav1.Object, error)
	// Metadata is Get for the UID and the deletionTimestamp only. It costs less.
	Metadata(ctx context.Context, ref ObjectRef, fresh bool) (metav1.Object, error)
	// Label sets a label of a Secret that has not been replaced since it was read.
	Label(ctx context.Context, secret *corev1.Secret, label, value string) error
}

// ObjectRef names an object of core/v1. The namespace of a node is empty.
type ObjectRef struct{ Resource, Namespace, Name string }

// Issuer issues tokens and verifies them.
type Issuer struct {
	options   Options
	issuers   []string // the first one issues
	audiences authenticator.Audiences
	signer    jose.Signer
	// keys verify tokens. byID has each under its ID.
	keys []jose.JSONWebKey
	byID map[string]jose.JSONWebKey
	// objects reads bound objects.
	objects Objects
	now     func() time.Time
	// verified has the claims of tokens whose signature was verified, by the hash of the token. Keys never change while
	// the server runs, so a signature that was right stays right. Everything else is checked for each request.
	verified *cache.LRUExpireCache
}

// maxVerified bounds the cache. The signature of a token that was evicted is verified again.
const maxVerified = 4096

// Config is what New needs.
type Config struct {
	Options Options
	// Keys has a signing key.
	Keys *Keys
	// Audiences are those of this server. None means the issuers.
	Audiences []string
	Objects   Objects
	// Now is time.Now, except in tests.
	Now func() time.Time
}

// New returns an issuer.
func New(config Config) (*Issuer, error) {
	i := &Issuer{
		options: config.Options, issuers: config.Options.issuers(), audiences: config.Audiences,
		objects: config.Objects, now: config.Now, byID: map[string]jose.JSONWebKey{},
		verified: cache.NewLRUExpireCache(maxVerified),
	}
	if i.now == nil {
		i.now = time.Now
	}
	if len(i.audiences) == 0 {
		i.audiences = i.issuers
	}
	var err error
	if i.signer, err = newSigner(config.Keys.Signing); err != nil {
		return nil, fmt.Errorf("--service-account-signing-key-file: %w", err)
	}
	if i.keys, err = config.Keys.publicKeys(); err != nil {
		return nil, fmt.Errorf("--service-account-key-file: %w", err)
	}
	for _, key := range i.keys {
		i.byID[key.KeyID] = key
	}
	return i, nil
}

// Audiences returns the audiences of this server: a token for another one is refused.
func (i *Issuer) Audiences() authenticator.Audiences { return slices.Clone(i.audiences) }

// Issuers returns the issuers whose tokens are accepted. No other authenticator may accept tokens of theirs.
func (i *Issuer) Issuers() []string { return slices.Clone(i.issuers) }
