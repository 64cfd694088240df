package server

import (
	"context"
	"crypto/tls"
	"fmt"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// security is the TLS side of the server. Certificates and authorities are read again when their files change.
type security struct {
	config *tls.Config
	// watchers look after the files while the server runs.
	watchers []dynamiccertificates.ControllerRunner
	serving  *dynamiccertificates.DynamicServingCertificateController
}

// readAuthorities reads those of client certificates, and returns what looks after their files.
func readAuthorities(id *identity) (dynamiccertificates.CAContentProvider, []dynamiccertificates.ControllerRunner, error) {
	var (
		authorities []dynamiccertificates.CAContentProvider
		watchers    []dynamiccertificates.ControllerRunner
	)
	for _, file := range id.clientCAFiles {
		authority, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", file)
		if err != nil {
			return nil, nil, fmt.Errorf("certificate %s is unreadable: %w", file, cause(err))
		}
		authorities, watchers = append(authorities, authority), append(watchers, authority)
	}
	return dynamiccertificates.NewUnionCAContentProvider(authorities...), watchers, nil
}

// newSecurity serves the certificate of id, and asks clients for certificates of the authorities.
func newSecurity(id *identity, clientCAs dynamiccertificates.CAContentProvider, watchers []dynamiccertificates.ControllerRunner) (*security, error) {
	certificate, err := dynamiccertificates.NewDynamicServingContentFromFiles("serving-cert", id.certFile, id.keyFile)
	if err != nil {
		return nil, fmt.Errorf("certificate %s is unreadable: %w", id.certFile, cause(err))
	}
	base := &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		// Go begins each connection, and again after a second of silence, with records of a packet's size, so that a browser can show
		// the beginning of a page. For who waits for an object, or for an event, that is two system calls and two records instead of one.
		DynamicRecordSizingDisabled: true,
		// A certificate is asked for, but judged by the authenticator, which answers with a Status.
		ClientAuth: tls.RequestClientCert,
	}
	s := &security{
		watchers: append(watchers, certificate),
		serving:  dynamiccertificates.NewDynamicServingCertificateController(base, clientCAs, certificate, nil, nil),
	}
	clientCAs.AddListener(s.serving)
	certificate.AddListener(s.serving)
	if err := s.serving.RunOnce(); err != nil {
		return nil, fmt.Errorf("certificate %s is unusable: %w", id.certFile, err)
	}
	s.config = base.Clone()
	s.config.GetConfigForClient = s.serving.GetConfigForClient
	return s, nil
}

// run looks after the files until ctx is done.
func (s *security) run(ctx context.Context) {
	for _, watcher := range s.watchers {
		go watcher.Run(ctx, 1)
	}
	s.serving.Run(1, ctx.Done())
}
