package serviceaccounts

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
	"k8s.io/client-go/util/keyutil"
)

// algorithms are those that tokens may be signed with. kube-apiserver signs with no others.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.ES384, jose.ES512}

// Keys are the keys of files. Like kube-apiserver, the server reads them once, when it starts.
type Keys struct {
	// Signing is the key that signs tokens; nil to generate one.
	Signing crypto.Signer
	// Verification are the keys whose tokens are accepted besides those of the signing key.
	Verification []crypto.PublicKey
}

// ReadKeys reads the files that the options name. Errors name the flag that is wrong.
func ReadKeys(o *Options) (*Keys, error) {
	keys := &Keys{}
	if o.SigningKeyFile != "" {
		key, err := keyutil.PrivateKeyFromFile(o.SigningKeyFile)
		if err != nil {
			return nil, fmt.Errorf("--service-account-signing-key-file: %w", err)
		}
		signer, ok := key.(crypto.Signer)
		if !ok {
			return nil, fmt.Errorf("--service-account-signing-key-file %s: %w", o.SigningKeyFile, errKeyType)
		}
		keys.Signing = signer
	}
	for _, file := range o.KeyFiles {
		read, err := keyutil.PublicKeysFromFile(file) // the public halves of private keys too
		if err != nil {
			return nil, fmt.Errorf("--service-account-key-file: %w", err)
		}
		for _, key := range read {
			keys.Verification = append(keys.Verification, key)
		}
	}
	return keys, nil
}

var errKeyType = errors.New("not an RSA key, or an ECDSA key with the curve P-256, P-384 or P-521")

// publicKeys returns the keys by which tokens are verified, each with its ID, the signing key's first.
func (k *Keys) publicKeys() ([]jose.JSONWebKey, error) {
	var public []jose.JSONWebKey
	for _, key := range append([]crypto.PublicKey{k.Signing.Public()}, k.Verification...) {
		described, err := describe(key)
		if err != nil {
			return nil, err
		}
		known := func(other jose.JSONWebKey) bool { return other.KeyID == described.KeyID }
		if !slices.ContainsFunc(public, known) {
			public = append(public, described)
		}
	}
	return public, nil
}

// describe returns a public key as others see it.
func describe(key crypto.PublicKey) (jose.JSONWebKey, error) {
	algorithm, err := algorithmOf(key)
	if err != nil {
		return jose.JSONWebKey{}, err
	}
	id, err := keyID(key)
	return jose.JSONWebKey{Key: key, KeyID: id, Algorithm: string(algorithm), Use: "sig"}, err
}

// algorithmOf returns the algorithm of the signatures of a key.
func algorithmOf(key crypto.PublicKey) (jose.SignatureAlgorithm, error) {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return jose.RS256, nil
	case *ecdsa.PublicKey:
		switch key.Curve {
		case elliptic.P256():
			return jose.ES256, nil
		case elliptic.P384():
			return jose.ES384, nil
		case elliptic.P521():
			return jose.ES512, nil
		}
	}
	return "", errKeyType
}

// keyID returns the ID that kube-apiserver gives to a public key: a hash, so that it does not reveal the key.
func keyID(key crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("encode public key: %w", err)
	}
	hash := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(hash[:]), nil
}

// newSigner returns a signer of tokens that names its key.
func newSigner(key crypto.Signer) (jose.Signer, error) {
	public, err := describe(key.Public())
	if err != nil {
		return nil, err
	}
	private := public
	private.Key = key
	return jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(public.Algorithm), Key: private}, nil)
}
