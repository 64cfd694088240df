package server

import (
	"context"
	"crypto/tls"
	"fmt"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// security is the TLS side of the server. Certificates and authorities are read again when their files change.
type security struct {
	config   *tls.Config
	clientCA dynamiccertificates.CAContentProvider
	// watchers look after the files while the server runs.
	watchers []dynamiccertificates.ControllerRunner
	serving  *dynamiccertificates.DynamicServingCertificateController
}

func newSecurity(id *identity) (*security, error) {
	s := &security{}
	certificate, err := dynamiccertificates.NewDynamicServingContentFromFiles("serving-cert", id.certFile, id.keyFile)
	if err != nil {
		return nil, fmt.Errorf("certificate %s is unreadable: %w", id.certFile, cause(err))
	}
	authorities := make([]dynamiccertificates.CAContentProvider, 0, len(id.clientCAFiles))
	for _, file := range id.clientCAFiles {
		authority, err := dynamiccertificates.NewDynamicCAContentFromFile("client-ca", file)
		if err != nil {
			return nil, fmt.Errorf("certificate %s is unreadable: %w", file, cause(err))
		}
		authorities = append(authorities, authority)
		s.watchers = append(s.watchers, authority)
	}
	s.clientCA = dynamiccertificates.NewUnionCAContentProvider(authorities...)
	s.watchers = append(s.watchers, certificate)

	base := &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		// A certificate is asked for, but judged by the authenticator, which answers with a Status.
		ClientAuth: tls.RequestClientCert,
	}
	s.serving = dynamiccertificates.NewDynamicServingCertificateController(base, s.clientCA, certificate, nil, nil)
	s.clientCA.AddListener(s.serving)
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
