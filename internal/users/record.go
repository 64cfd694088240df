package users

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Record says which certificates a user has. A user who was never removed may use any certificate that an authority of
// the server has signed. A user who was removed may only use those that were added since.
type Record struct {
	Name string `json:"name"`
	// Removed is when the user was removed for the last time.
	Removed *metav1.Time `json:"removed,omitempty"`
	// Certificates are those that have not expired, the oldest first.
	Certificates []Certificate `json:"certificates,omitempty"`
}

// Certificate is a client certificate that was added for a user.
type Certificate struct {
	// ID is the credential ID that the server gives the certificate. Audit logs and SelfSubjectReviews show it too.
	ID      string       `json:"id"`
	Groups  []string     `json:"groups,omitempty"`
	Created metav1.Time  `json:"created"`
	Expires metav1.Time  `json:"expires"`
	Removed *metav1.Time `json:"removed,omitempty"`
}

const (
	// Namespace has the Secrets with the records.
	Namespace = metav1.NamespaceSystem
	// SecretType is the type of these Secrets.
	SecretType corev1.SecretType = "crd-server/user"
	// namePrefix is the beginning of their names.
	namePrefix = "crd-server-user-"
	// hashed follows the prefix if the name of the user cannot be part of the name of an object.
	hashed = "sha256-"
	// dataKey is the key of the record in the data.
	dataKey = "record"
)

// Allows reports whether the user may use the certificate with this credential ID.
func (r *Record) Allows(id string) bool {
	if r.Removed == nil {
		return true
	}
	for _, c := range r.Certificates {
		if c.ID == id {
			return c.Removed == nil
		}
	}
	return false
}

// Remove refuses all certificates that the user has.
func (r *Record) Remove(now metav1.Time) {
	r.Removed = &now
	for n := range r.Certificates {
		if c := &r.Certificates[n]; c.Removed == nil {
			c.Removed = &now
		}
	}
}

// Active reports whether the user has a certificate that was added, was not removed, and has not expired.
func (r *Record) Active(now metav1.Time) bool {
	return slices.ContainsFunc(r.Certificates, func(c Certificate) bool {
		return c.Removed == nil && now.Before(&c.Expires)
	})
}

// DropExpired forgets certificates that have expired, and reports whether there were any.
func (r *Record) DropExpired(now metav1.Time) bool {
	before := len(r.Certificates)
	r.Certificates = slices.DeleteFunc(r.Certificates, func(c Certificate) bool { return !now.Before(&c.Expires) })
	return len(r.Certificates) < before
}

// SecretName returns the name of the Secret with the record of a user.
func SecretName(user string) string {
	name := namePrefix + user
	if strings.HasPrefix(user, hashed) || len(validation.IsDNS1123Subdomain(name)) > 0 {
		sum := sha256.Sum256([]byte(user))
		return namePrefix + hashed + hex.EncodeToString(sum[:])
	}
	return name
}

// Secret returns a Secret with the record.
func (r *Record) Secret() (*corev1.Secret, error) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: SecretName(r.Name)},
		Type:       SecretType,
	}
	return secret, r.WriteTo(secret)
}

// WriteTo replaces the record in a Secret.
func (r *Record) WriteTo(secret *corev1.Secret) error {
	encoded, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode the record of user %q: %w", r.Name, err)
	}
	secret.Data = map[string][]byte{dataKey: encoded}
	return nil
}

// FromSecret returns the record in a Secret.
func FromSecret(secret *corev1.Secret) (*Record, error) {
	r := &Record{}
	if err := json.Unmarshal(secret.Data[dataKey], r); err != nil {
		return nil, fmt.Errorf("secret %s/%s has no record of a user: %w", secret.Namespace, secret.Name, err)
	}
	if secret.Type != SecretType || secret.Name != SecretName(r.Name) {
		return nil, fmt.Errorf("secret %s/%s is not the record of user %q", secret.Namespace, secret.Name, r.Name)
	}
	return r, nil
}
