package certs

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/crd-server/crd-server/internal/server/datadir"
)

// TLS is the TLS configuration of the server. It follows changes of the files with certificates and authorities.
type TLS struct {
	// Config is the configuration of the listener.
	Config *tls.Config
	// watchers read files again when they change.
	watchers []watched
	// serving follows them; nil if nothing changes.
	serving *dynamiccertificates.DynamicServingCertificateController
}

// Authorities are the authorities of client certificates.
type Authorities struct {
	dynamiccertificates.CAContentProvider
	// Read are those of them that ReadAuthorities has read.
	Read []dynamiccertificates.CAContentProvider
	// Change says that others of them may change.
	Change bool
}

// ReadAuthorities reads the authorities of client certificates, in the order of their files.
func ReadAuthorities(id *Identity) (authorities []dynamiccertificates.CAContentProvider, err error) {
	for _, file := range id.ClientCAFiles {
		authority, err := id.readAuthority(file)
		if err != nil {
			return nil, fmt.Errorf("certificate %s is unreadable: %w", file, datadir.Cause(err))
		}
		authorities = append(authorities, authority)
	}
	return authorities, nil
}

// readAuthority reads an authority, which follows its file while it runs. One that never changes has nothing to run: it
// would need an inotify instance, of which a user has few.
func (id *Identity) readAuthority(file string) (dynamiccertificates.CAContentProvider, error) {
	const name = "client-ca"
	if !id.IsFixed(file) {
		return dynamiccertificates.NewDynamicCAContentFromFile(name, file)
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return dynamiccertificates.NewStaticCAContent(name, pem)
}

// serving returns the serving certificate; see readAuthority.
func (id *Identity) serving() (dynamiccertificates.CertKeyContentProvider, error) {
	const name = "serving-cert"
	if !id.IsFixed(id.CertFile) {
		return dynamiccertificates.NewDynamicServingContentFromFiles(name, id.CertFile, id.KeyFile)
	}
	certificate, err := os.ReadFile(id.CertFile)
	if err != nil {
		return nil, err
	}
	key, err := os.ReadFile(id.KeyFile)
	if err != nil {
		return nil, err
	}
	return dynamiccertificates.NewStaticCertKeyContent(name, certificate, key)
}

// NewTLS returns the configuration that serves the certificate of id and asks clients for certificates of the
// authorities.
func NewTLS(c *Config, id *Identity, clients Authorities) (*TLS, error) {
	certificate, err := id.serving()
	if err != nil {
		return nil, fmt.Errorf("certificate %s is unreadable: %w", id.CertFile, datadir.Cause(err))
	}
	base := &tls.Config{
		NextProtos: []string{"h2", "http/1.1"},
		// By default crypto/tls begins with records of the size of a packet. Clients need whole objects, which then
		// cost several records.
		DynamicRecordSizingDisabled: true,
		// The authenticator verifies client certificates, so that a refused client gets a Status.
		ClientAuth: tls.RequestClientCert,
	}
	if err := c.Protocol.apply(base); err != nil {
		return nil, err
	}
	s := &TLS{Config: base}
	s.watch(certificate)
	var named []dynamiccertificates.SNICertKeyContentProvider
	for _, pair := range c.Named {
		content, err := dynamiccertificates.NewDynamicSNIContentFromFiles(
			"sni-cert", pair.CertFile, pair.KeyFile, pair.Names...)
		if err != nil {
			return nil, fmt.Errorf("--tls-sni-cert-key %s: certificate is unreadable: %w", pair.CertFile, datadir.Cause(err))
		}
		s.watch(content)
		named = append(named, content)
	}
	for _, content := range clients.Read {
		s.watch(content)
	}
	if len(s.watchers) == 0 && !clients.Change {
		return s, fix(base, certificate, clients)
	}
	s.serving = dynamiccertificates.NewDynamicServingCertificateController(base, clients, certificate, named, nil)
	clients.AddListener(s.serving)
	for _, content := range s.watchers {
		content.AddListener(s.serving)
	}
	if err := s.serving.RunOnce(); err != nil {
		return nil, fmt.Errorf("certificate %s is unusable: %w", id.CertFile, err)
	}
	s.Config = base.Clone()
	s.Config.GetConfigForClient = s.serving.GetConfigForClient
	return s, nil
}

// watched is the content of files that may change.
type watched interface {
	dynamiccertificates.ControllerRunner
	dynamiccertificates.Notifier
}

// watch adds a content to the watchers, if it may change.
func (s *TLS) watch(content any) {
	if may, ok := content.(watched); ok {
		s.watchers = append(s.watchers, may)
	}
}

// fix sets a certificate and authorities that never change.
func fix(
	config *tls.Config, certificate dynamiccertificates.CertKeyContentProvider,
	clients dynamiccertificates.CAContentProvider,
) error {
	pair, err := tls.X509KeyPair(certificate.CurrentCertKeyContent())
	if err != nil {
		return fmt.Errorf("certificate %s is unusable: %w", certificate.Name(), err)
	}
	config.Certificates = []tls.Certificate{pair}
	if options, ok := clients.VerifyOptions(); ok {
		config.ClientCAs = options.Roots
	}
	return nil
}

// Run follows changes of the files until ctx is done.
func (s *TLS) Run(ctx context.Context) {
	for _, watcher := range s.watchers {
		go watcher.Run(ctx, 1)
	}
	if s.serving != nil {
		s.serving.Run(1, ctx.Done())
	}
	<-ctx.Done()
}

// Protocol restricts TLS, in the words of kube-apiserver's flags. What an empty field leaves open, crypto/tls chooses.
type Protocol struct {
	// MinVersion is the lowest version of TLS, such as VersionTLS12.
	MinVersion string
	// CipherSuites are the suites for TLS up to 1.2, Curves the key exchanges, by their numbers in crypto/tls.
	CipherSuites []string
	Curves       []int32
}

// Validate returns the first mistake.
func (p *Protocol) Validate() error { return p.apply(&tls.Config{}) }

// apply sets what p says.
func (p *Protocol) apply(c *tls.Config) (err error) {
	if c.MinVersion, err = cliflag.TLSVersion(p.MinVersion); err != nil {
		return fmt.Errorf("--tls-min-version: %w", err)
	}
	if len(p.CipherSuites) > 0 {
		if c.CipherSuites, err = cliflag.TLSCipherSuites(p.CipherSuites); err != nil {
			return fmt.Errorf("--tls-cipher-suites: %w", err)
		}
	}
	if len(p.Curves) > 0 {
		if c.CurvePreferences, err = cliflag.TLSCurvePreferences(p.Curves); err != nil {
			return fmt.Errorf("--tls-curve-preferences: %w", err)
		}
	}
	return nil
}
