package authentication

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
)

// FuzzFrontProxy sends header lines with the certificate of a proxy and with other certificates. The user must be the
// one that the proxy names. Headers of other clients must have no effect.
func FuzzFrontProxy(f *testing.F) {
	proxies := newAuthority(f)
	options := FrontProxyOptions{ClientCAFile: proxies.file, AllowedNames: []string{"front"},
		UsernameHeaders: []string{"X-Remote-User", "X-Other-User"}, UIDHeaders: []string{"X-Remote-Uid"},
		GroupHeaders: []string{"X-Remote-Group", "X-Other-Group"}, ExtraPrefix: []string{"X-Remote-Extra-", "X-Extra-"}}
	config, _, err := options.requestHeaders()
	if err != nil {
		f.Fatal(err)
	}
	front := newFrontProxy(config)
	later := time.Now().AddDate(1, 0, 0)
	proxy := proxies.client(later, "front")
	others := map[string][]*x509.Certificate{
		"without a certificate": nil, "with another name": {proxies.client(later, "back")},
		"signed by another authority": {newAuthority(f).client(later, "front")},
	}
	for _, headers := range []string{
		"", "X-Remote-User: ann", "X-Remote-User: ann\r\nX-Remote-Group: a\r\nx-remote-group: b\r\nX-Remote-Uid: " +
			"7\r\nX-Remote-Extra-Team: red\r\nX-Remote-Extra-Team: blue",
		"X-Remote-User:\r\nX-Other-User: bob", "X-Remote-User:\r\nX-Remote-User: ann", "X-Remote-Group: system:masters",
		"X-Remote-User: ann\r\nX-Remote-Group:\r\nX-Other-Group: é",
		"x-remote-user: ann\r\nX-Remote-Extra-: empty\r\nX-Remote-Extra-Example.com%2fKey: v\r\nX-Remote-Extra-%zz: " +
			"v\r\nX-Remote-Extra-%45: v\r\nX-Remote-Extra-E: w\r\nX-Extra-E: x",
		"X_Remote_User: ann\r\nX-Remote-User : ann", "X-Remote-User: a\r\n b",
		"Connection: X-Remote-User\r\nX-Remote-User: ann\r\nAuthorization: Bearer x",
	} {
		f.Add(headers)
	}
	f.Fuzz(func(t *testing.T, headers string) {
		sent, err := http.ReadRequest(bufio.NewReader(strings.NewReader("GET / HTTP/1.1\r\nHost: localhost\r\n" + headers +
			"\r\n\r\n")))
		if err != nil {
			t.Skip("not a request")
		}
		for who, certificates := range others {
			req := sent.Clone(t.Context())
			req.TLS = &tls.ConnectionState{PeerCertificates: certificates}
			if response, ok, _ := front.AuthenticateRequest(req); ok {
				t.Errorf("%s: %+v", who, response.User)
			}
		}
		req := sent.Clone(t.Context())
		req.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{proxy}}
		response, ok, err := front.AuthenticateRequest(req)
		want, left := userOf(sent.Header)
		if err != nil || ok != (want.Name != "") {
			t.Fatalf("%v %v, want %+v", ok, err, want)
		}
		if ok {
			checkUser(t, response.User.(*user.DefaultInfo), want)
			if !maps.EqualFunc(req.Header, left, slices.Equal) {
				t.Errorf("headers left: %q, want %q", req.Header, left)
			}
		}
	})
}

func checkUser(t *testing.T, got *user.DefaultInfo, want user.DefaultInfo) {
	t.Helper()
	for _, values := range got.Extra {
		slices.Sort(values)
	}
	if got.Name != want.Name || got.UID != want.UID || !slices.Equal(got.Groups, want.Groups) ||
		!maps.EqualFunc(got.Extra, want.Extra, slices.Equal) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// userOf returns the user that the headers of FuzzFrontProxy name, with sorted values of extra, and all other headers.
func userOf(headers http.Header) (who user.DefaultInfo, others http.Header) {
	who.Extra, others = map[string][]string{}, http.Header{}
	who.Name = headers.Get("X-Remote-User")
	if who.Name == "" {
		who.Name = headers.Get("X-Other-User")
	}
	who.UID = headers.Get("X-Remote-Uid")
	for _, group := range slices.Concat(headers["X-Remote-Group"], headers["X-Other-Group"]) {
		if group != "" {
			who.Groups = append(who.Groups, group)
		}
	}
	for name, values := range headers {
		lower := strings.ToLower(name)
		key, isExtra := strings.CutPrefix(lower, "x-remote-extra-")
		if !isExtra {
			key, isExtra = strings.CutPrefix(lower, "x-extra-")
		}
		switch {
		case isExtra:
			if unescaped, err := url.PathUnescape(key); err == nil {
				key = unescaped
			}
			who.Extra[key] = append(who.Extra[key], values...)
			slices.Sort(who.Extra[key])
		case !slices.Contains([]string{"x-remote-user", "x-other-user", "x-remote-uid", "x-remote-group", "x-other-group"},
			lower):
			others[name] = values
		}
	}
	return who, others
}
