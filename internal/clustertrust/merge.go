package clustertrust

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/util/cert"
)

// The keys of the ConfigMap.
const (
	clientCA       = "client-ca-file"
	proxyCA        = "requestheader-client-ca-file"
	usernames      = "requestheader-username-headers"
	uids           = "requestheader-uid-headers"
	groups         = "requestheader-group-headers"
	extraPrefixes  = "requestheader-extra-headers-prefix"
	allowedProxies = "requestheader-allowed-names"
)

// Info says by whom a server recognises its clients.
type Info struct {
	// ClientCA are the authorities of client certificates; nil if there are none to publish.
	ClientCA dynamiccertificates.CAContentProvider
	// FrontProxies are the proxies that may name users; nil without any.
	FrontProxies *authenticatorfactory.RequestHeaderConfig
}

// ConfigMap returns the ConfigMap of a cluster without other servers, and its managed fields in the format FieldsV1. It
// is nil if there is nothing to publish.
func (i Info) ConfigMap() (m *corev1.ConfigMap, fields string, err error) {
	m = emptyMap()
	if m.Data, err = i.addTo(nil); err != nil || len(m.Data) == 0 {
		return nil, "", err
	}
	var managed strings.Builder
	for _, key := range []string{
		clientCA, allowedProxies, proxyCA, extraPrefixes, groups, uids, usernames, // sorted
	} {
		if _, has := m.Data[key]; has {
			managed.WriteString(`,"f:` + key + `":{}`)
		}
	}
	return m, `{"f:data":{".":{}` + managed.String() + `}}`, nil
}

// notify calls a listener when authorities change.
func (i Info) notify(listener dynamiccertificates.Listener) {
	if i.ClientCA != nil {
		i.ClientCA.AddListener(listener)
	}
	if i.FrontProxies != nil {
		i.FrontProxies.CAContentProvider.AddListener(listener)
	}
}

// addTo returns the data of a ConfigMap with that of the server. What other servers have added stays, except for
// authorities that have expired.
func (i Info) addTo(stored map[string]string) (map[string]string, error) {
	data := map[string]string{}
	clients, err := mergeAuthorities(stored[clientCA], i.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", clientCA, err)
	}
	if clients != "" {
		data[clientCA] = clients
	}
	own := i.FrontProxies
	if own == nil {
		own = &authenticatorfactory.RequestHeaderConfig{}
	}
	proxies, err := mergeAuthorities(stored[proxyCA], own.CAContentProvider)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", proxyCA, err)
	}
	merged := map[string]string{}
	for key, names := range map[string]headerrequest.StringSliceProvider{
		usernames: own.UsernameHeaders, uids: own.UIDHeaders, groups: own.GroupHeaders,
		extraPrefixes: own.ExtraHeaderPrefixes, allowedProxies: own.AllowedClientNames,
	} {
		if merged[key], err = mergeNames(stored[key], names); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	if proxies == "" {
		return data, nil
	}
	data[proxyCA] = proxies
	for key, names := range merged {
		if key != uids || names != "[]" && utilfeature.DefaultFeatureGate.Enabled(features.RemoteRequestHeaderUID) {
			data[key] = names
		}
	}
	return data, nil
}

// mergeNames adds the names that a list in JSON does not have.
func mergeNames(stored string, own headerrequest.StringSliceProvider) (string, error) {
	names := []string{}
	if stored != "" {
		if err := json.Unmarshal([]byte(stored), &names); err != nil {
			return "", err
		}
	}
	if own != nil {
		names = append(names, own.Value()...)
	}
	unique := []string{}
	for _, name := range names {
		if !slices.Contains(unique, name) {
			unique = append(unique, name)
		}
	}
	merged, err := json.Marshal(unique)
	return string(merged), err
}

// expiredFor is how long an authority stays after it has expired, as upstream.
const expiredFor = 5 * time.Minute

// mergeAuthorities adds the certificates that a bundle in PEM does not have, and leaves out those that have expired.
func mergeAuthorities(stored string, own dynamiccertificates.CAContentProvider) (string, error) {
	var all []*x509.Certificate
	bundles := [][]byte{[]byte(stored)}
	if own != nil {
		bundles = append(bundles, own.CurrentCABundleContent())
	}
	for _, bundle := range bundles {
		if len(bundle) == 0 {
			continue
		}
		certificates, err := cert.ParseCertsPEM(bundle)
		if err != nil {
			return "", err
		}
		all = append(all, certificates...)
	}
	var merged []*x509.Certificate
	for _, c := range all {
		known := slices.ContainsFunc(merged, func(other *x509.Certificate) bool { return bytes.Equal(other.Raw, c.Raw) })
		if !known && time.Since(c.NotAfter) < expiredFor {
			merged = append(merged, c)
		}
	}
	encoded, err := cert.EncodeCertificates(merged...)
	return string(encoded), err
}
