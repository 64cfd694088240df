package certs

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/crd-server/crd-server/internal/server/datadir"
)

// TLS is the TLS configuration of the server. It follows changes of the files with certificates and authorities.
type TLS struct {
	// Config is the configuration of the listener.
	Config *tls.Config
	// watchers read files again when they change.
	watchers []dynamiccertificates.ControllerRunner
	// serving follows them; nil if nothing changes.
	serving *dynamiccertificates.DynamicServingCertificateController
}

// Authorities are the authorities of client certificates.
type Authorities struct {
	dynamiccertificates.CAContentProvider
	// Watchers read their files again when they change.
	Watchers []dynamiccertificates.ControllerRunner
	// Change says that they may change although there are no watchers.
	Change bool
}

// ReadAuthorities reads the authorities of client certificates, in the order of their files. The watchers read the
// files again when they change; see NewTLS. Files that never change have none: each would need an inotify instance, of
// which a user has few.
func ReadAuthorities(
	id *Identity,
) ([]dynamiccertificates.CAContentProvider, []dynamiccertificates.ControllerRunner, error) {
	var (
		authorities []dynamiccertificates.CAContentProvider
		watchers    []dynamiccertificates.ControllerRunner
	)
	for _, file := range id.ClientCAFiles {
		if id.IsFixed(file) {
			authority, err := readFixedAuthority(file)
			if err != nil {
				return nil, nil, err
			}
			authorities = append(authorities, authority)
			continue
		}
		authority, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", file)
		if err != nil {
			return nil, nil, fmt.Errorf("certificate %s is unreadable: %w", file, datadir.Cause(err))
		}
		authorities, watchers = append(authorities, authority), append(watchers, authority)
	}
	return authorities, watchers, nil
}

// readFixedAuthority reads an authority that never changes.
func readFixedAuthority(file string) (dynamiccertificates.CAContentProvider, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("certificate %s is unreadable: %w", file, datadir.Cause(err))
	}
	return dynamiccertificates.NewStaticCAContent("client-ca", pem)
}

// serving returns the serving certificate. It adds a watcher if the certificate may change.
func (id *Identity) serving(watchers []dynamiccertificates.ControllerRunner) (
	dynamiccertificates.CertKeyContentProvider, []dynamiccertificates.ControllerRunner, error,
) {
	const name = "serving-cert"
	if !id.IsFixed(id.CertFile) {
		content, err := dynamiccertificates.NewDynamicServingContentFromFiles(name, id.CertFile, id.KeyFile)
		return content, append(watchers, content), err
	}
	certificate, err := os.ReadFile(id.CertFile)
	if err != nil {
		return nil, nil, err
	}
	key, err := os.ReadFile(id.KeyFile)
	if err != nil {
		return nil, nil, err
	}
	content, err := dynamiccertificates.NewStaticCertKeyContent(name, certificate, key)
	return content, watchers, err
}

// NewTLS returns the configuration that serves the certificate of id and asks clients for certificates of the
// authorities.
func NewTLS(c *Config, id *Identity, clients Authorities) (*TLS, error) {
	certificate, watchers, err := id.serving(clients.Watchers)
	if err != nil {
		return nil, fmt.Errorf("certificate %s is unreadable: %w", id.CertFile, datadir.Cause(err))
	}
	named, err := c.named()
	if err != nil {
		return nil, err
	}
	var snis []dynamiccertificates.SNICertKeyContentProvider
	for _, content := range named {
		snis, watchers = append(snis, content), append(watchers, content)
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
	if len(watchers) == 0 && !clients.Change {
		err = fix(base, certificate, clients)
		return &TLS{Config: base}, err
	}
	s := &TLS{
		watchers: watchers,
		serving:  dynamiccertificates.NewDynamicServingCertificateController(base, clients, certificate, snis, nil),
	}
	clients.AddListener(s.serving)
	for _, content := range named {
		content.AddListener(s.serving)
	}
	if changing, ok := certificate.(dynamiccertificates.Notifier); ok {
		changing.AddListener(s.serving)
	}
	if err := s.serving.RunOnce(); err != nil {
		return nil, fmt.Errorf("certificate %s is unusable: %w", id.CertFile, err)
	}
	s.Config = base.Clone()
	s.Config.GetConfigForClient = s.serving.GetConfigForClient
	return s, nil
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
