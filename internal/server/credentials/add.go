package credentials

import (
	"context"
	"crypto/sha256"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/crd-server/crd-server/internal/server/certs"
	"github.com/crd-server/crd-server/internal/users"
)

// NewUser is a user to be added.
type NewUser struct {
	Name   string
	Groups []string
	// Lifetime is how long the certificate is valid.
	Lifetime time.Duration
	// Renew adds a certificate to a user who has one. Without Groups it has the groups of the last one.
	Renew bool
	// Server is the address of the server for this user; empty means that in the admin kubeconfig.
	Server string
}

// maxNameLength is the upper bound of names in certificates (RFC 5280, ub-common-name and ub-organization-name).
const maxNameLength = 64

// Validate returns an error if there can be no such user.
func (u *NewUser) Validate() error {
	for _, name := range append([]string{u.Name}, u.Groups...) {
		switch {
		case name == "" || strings.TrimSpace(name) != name || strings.ContainsFunc(name, unicode.IsControl):
			return fmt.Errorf("invalid name %q: it is empty, has control characters, or spaces around it", name)
		case len(name) > maxNameLength:
			return fmt.Errorf("invalid name %q: it has more than %d bytes", name, maxNameLength)
		}
	}
	if !users.Removable(u.Name) {
		return fmt.Errorf("user %q belongs to the system and cannot be added", u.Name)
	}
	return validateLifetime(u.Lifetime)
}

func validateLifetime(lifetime time.Duration) error {
	if lifetime < time.Minute {
		return fmt.Errorf("--expires must be a minute or longer, not %s", lifetime)
	}
	return nil
}

// Add gives a user a certificate and returns a kubeconfig, which works when Add returns.
func (m *Manager) Add(ctx context.Context, u *NewUser) (kubeconfig []byte, expires time.Time, err error) {
	if err := u.Validate(); err != nil {
		return nil, expires, err
	}
	authority, err := certs.ReadAuthority(m.dataDir)
	if err != nil {
		return nil, expires, err
	}
	if err := m.clean(ctx); err != nil {
		return nil, expires, err
	}
	groups, err := m.groups(ctx, u)
	if err != nil {
		return nil, expires, err
	}
	now := m.time()
	expires = now.Add(u.Lifetime)
	pair, err := authority.Client(pkix.Name{CommonName: u.Name, Organization: groups}, now.Time, expires)
	if err != nil {
		return nil, expires, err
	}
	credential, err := pair.AuthInfo()
	if err != nil {
		return nil, expires, err
	}
	login := &clientcmdapi.Context{AuthInfo: u.Name}
	if kubeconfig, err = m.kubeconfig(login, u.Server, credential); err != nil {
		return nil, expires, err
	}
	sum := sha256.Sum256(pair.Cert.Raw)
	err = m.record(ctx, u, users.Certificate{
		ID: "X509SHA256=" + hex.EncodeToString(sum[:]), Groups: groups, Created: now, Expires: metav1.NewTime(expires),
	})
	if err != nil {
		return nil, expires, err
	}
	return kubeconfig, expires, m.accepted(ctx, credential)
}

// groups returns the groups of the certificate of a user.
func (m *Manager) groups(ctx context.Context, u *NewUser) ([]string, error) {
	if !u.Renew || len(u.Groups) > 0 {
		return u.Groups, nil
	}
	records, err := m.records(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		if r.Name == u.Name && r.Active(m.time()) {
			return r.Certificates[len(r.Certificates)-1].Groups, nil
		}
	}
	return nil, fmt.Errorf("user %q has no certificate to renew: add it without --renew", u.Name)
}

// record adds a certificate to the record of a user.
func (m *Manager) record(ctx context.Context, u *NewUser, added users.Certificate) error {
	return m.change(ctx, u.Name, func(r *users.Record) error {
		if r.Active(added.Created) && !u.Renew {
			return fmt.Errorf("user %q exists already: --renew adds a certificate", u.Name)
		}
		r.Certificates = append(r.Certificates, added)
		return nil
	})
}

const (
	// accepting is how long a server may take to learn of a new certificate.
	accepting    = 10 * time.Second
	acceptedPoll = 50 * time.Millisecond
)

// accepted waits until the server accepts a new certificate. It refuses one of a user who was removed before until it
// has learned of the new record, and always if the data directory is not its own.
func (m *Manager) accepted(ctx context.Context, credential *clientcmdapi.AuthInfo) error {
	config := rest.AnonymousClientConfig(m.config)
	config.CertData, config.KeyData = credential.ClientCertificateData, credential.ClientKeyData
	client := kubernetes.NewForConfigOrDie(config) // that of the admin was read, and the certificate was just made
	var refused error
	err := wait.PollUntilContextTimeout(ctx, acceptedPoll, accepting, true, func(ctx context.Context) (bool, error) {
		_, refused = client.AuthenticationV1().SelfSubjectReviews().Create(ctx,
			&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		// Only who is known can be forbidden something.
		return refused == nil || apierrors.IsForbidden(refused), nil
	})
	if err != nil {
		return fmt.Errorf("%s does not accept the new certificate; is %s the data dir of this server? %w",
			m.cluster.Server, m.dataDir, errors.Join(refused, context.Cause(ctx)))
	}
	return nil
}
