package clustertrust

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"maps"
	"math/big"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/util/cert"
)

// authority returns a certificate in PEM that is valid until a time.
func authority(t testing.TB, notAfter time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: notAfter, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	block, err := cert.EncodeCertificates(&x509.Certificate{Raw: der})
	if err != nil {
		t.Fatal(err)
	}
	return string(block)
}

func provide(t testing.TB, bundle string) dynamiccertificates.CAContentProvider {
	t.Helper()
	provider, err := dynamiccertificates.NewStaticCAContent("test", []byte(bundle))
	if err != nil {
		t.Fatal(err)
	}
	return provider
}

// proxies returns front proxies that an authority certifies.
func proxies(t testing.TB, bundle string) *authenticatorfactory.RequestHeaderConfig {
	return &authenticatorfactory.RequestHeaderConfig{
		CAContentProvider:   provide(t, bundle),
		UsernameHeaders:     headerrequest.StaticStringSlice{"X-User", "X-Other"},
		UIDHeaders:          headerrequest.StaticStringSlice{},
		GroupHeaders:        headerrequest.StaticStringSlice{"X-Group"},
		ExtraHeaderPrefixes: headerrequest.StaticStringSlice{"X-Extra-"},
		AllowedClientNames:  headerrequest.StaticStringSlice{},
	}
}

// TestAddTo checks what a server makes of a stored ConfigMap.
func TestAddTo(t *testing.T) {
	t.Parallel()
	later := time.Now().Add(time.Hour)
	a, b, expired := authority(t, later), authority(t, later), authority(t, time.Now().Add(-expiredFor))
	fresh := map[string]string{
		clientCA: a, proxyCA: b, usernames: `["X-User","X-Other"]`, groups: `["X-Group"]`, extraPrefixes: `["X-Extra-"]`,
		allowedProxies: `[]`,
	}
	merged := maps.Clone(fresh)
	merged[clientCA], merged[usernames], merged[uids] = b+a, `["X-Old","X-User","X-Other"]`, `["X-Uid"]`
	both := Info{ClientCA: provide(t, a), FrontProxies: proxies(t, b)}
	for name, test := range map[string]struct {
		info         Info
		stored, want map[string]string
	}{
		"nothing":         {Info{}, nil, map[string]string{}},
		"clients":         {Info{ClientCA: provide(t, a)}, nil, map[string]string{clientCA: a}},
		"all":             {both, nil, fresh},
		"the same":        {both, fresh, fresh},
		"of others":       {Info{}, fresh, fresh},
		"further keys":    {Info{}, map[string]string{"a": "b"}, map[string]string{}},
		"expired":         {both, map[string]string{clientCA: expired, proxyCA: expired}, fresh},
		"expired proxies": {Info{}, map[string]string{proxyCA: expired, usernames: `["X-Old"]`}, map[string]string{}},
		"names are added": {both, map[string]string{clientCA: b, usernames: `["X-Old","X-User"]`, uids: `["X-Uid"]`}, merged},
	} {
		got, err := test.info.addTo(test.stored)
		if err != nil || !maps.Equal(got, test.want) {
			t.Errorf("%s: got %v, %v; want %v", name, got, err, test.want)
		}
	}
	for _, stored := range []map[string]string{{clientCA: "x"}, {proxyCA: "x"}, {groups: "x"}, {groups: `{}`}} {
		if got, err := both.addTo(stored); err == nil {
			t.Errorf("%v becomes %v", stored, got)
		}
	}
}

// FuzzAddTo checks that the data of a server that is added once stays as it is.
func FuzzAddTo(f *testing.F) {
	a := authority(f, time.Now().Add(24*time.Hour))
	info := Info{ClientCA: provide(f, a), FrontProxies: proxies(f, a)}
	f.Add(a, a, `["X-Old","X-Old"]`)
	f.Add("", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", `[null]`)
	f.Add("x"+a+"x", "", "null")
	f.Fuzz(func(t *testing.T, clients, front, names string) {
		first, err := info.addTo(map[string]string{clientCA: clients, proxyCA: front, uids: names, usernames: names})
		if err != nil {
			return
		}
		second, err := info.addTo(first)
		if err != nil || !maps.Equal(first, second) {
			t.Errorf("%v becomes %v, %v", first, second, err)
		}
	})
}
