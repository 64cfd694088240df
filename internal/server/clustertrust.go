package server

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/crd-server/crd-server/internal/bootstrap"
	"github.com/crd-server/crd-server/internal/clustertrust"
)

// publish decides what the server says to other servers of the cluster about the authorities of its clients. The first
// of them is the generated one. It is left out if it ends with this process, and the stored objects do not.
func (s *server) publish(authorities []dynamiccertificates.CAContentProvider) {
	if s.dir.IsTemporary() && len(s.options.Etcd.Servers) > 0 {
		authorities = authorities[1:]
	}
	s.access.published = clustertrust.Info{FrontProxies: s.access.authenticator.RequestHeaders}
	if len(authorities) > 0 {
		s.access.published.ClientCA = dynamiccertificates.NewUnionCAContentProvider(authorities...)
	}
}

// newTrust returns the controller that publishes the authorities; nil without ConfigMaps.
func newTrust(a *access, s *stored) (*clustertrust.Controller, error) {
	if s.builtins.Find(corev1.Resource("configmaps")) == nil {
		return nil, nil
	}
	return clustertrust.New(clustertrust.Config{
		Store: s.store, Set: s.builtins, Client: inProcess{a.own}.clientConfig(), Info: a.published,
	})
}

// addTrust adds the ConfigMap with the authorities, if ConfigMaps are served.
func (o *systemObjects) addTrust(info clustertrust.Info) error {
	definition := o.builtins.Find(corev1.Resource("configmaps"))
	if definition == nil {
		return nil
	}
	published, fields, err := info.ConfigMap()
	if published == nil || err != nil {
		return err
	}
	o.objects = append(o.objects, bootstrap.Object{Definition: definition, Object: published, Fields: fields})
	return nil
}
