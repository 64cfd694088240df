package listing

import (
	"encoding/base64"
	"strings"
	"testing"

	upstream "k8s.io/apiserver/pkg/storage"
)

func TestContinueTokenEqualsUpstreams(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		key      string
		revision int64
	}{{"a", 1}, {"ns/name", 77}, {"x.y-z", latestRevision}} {
		ours := continueAfter(tc.key, tc.revision).encode()
		theirs, err := upstream.EncodeContinue("/p/"+tc.key+"\x00", "/p/", tc.revision)
		if err != nil {
			t.Fatal(err)
		}
		if ours != theirs {
			t.Errorf("%s: got %s, want %s", tc.key, ours, theirs)
		}
	}
}

func TestDecodeContinueRefuses(t *testing.T) {
	t.Parallel()
	token := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	for _, value := range []string{
		"!", token("x"), token("[]"), token(`{}`),
		token(`{"v":"v2","rv":1,"start":"a"}`),
		token(`{"v":"meta.k8s.io/v1","rv":0,"start":"a"}`),
		token(`{"v":"meta.k8s.io/v1","rv":1,"start":""}`),
		token(`{"v":"meta.k8s.io/v1","rv":1,"start":"../secrets"}`),
		token(`{"v":"meta.k8s.io/v1","rv":1,"start":"a/../../b"}`),
		token(`{"v":"meta.k8s.io/v1","rv":1,"start":"a//b"}`),
	} {
		checkDecodeContinue(t, value)
		if got, err := decodeContinue(value); err == nil {
			t.Errorf("%s is accepted as %v", value, got)
		}
	}
}

// checkDecodeContinue compares decodeContinue with upstream's decoder.
func checkDecodeContinue(t *testing.T, value string) {
	t.Helper()
	got, err := decodeContinue(value)
	start, revision, wantErr := upstream.DecodeContinue(value, "")
	switch {
	case (err == nil) != (wantErr == nil):
		t.Errorf("%q: error %v, want %v", value, err, wantErr)
	case err != nil && strings.ReplaceAll(err.Error(), "listing.",
		"storage.") != wantErr.Error(): // errors of encoding/json name the type
		t.Errorf("%q: error %q, want %q", value, err, wantErr)
	case err == nil && (got.Start != start || got.Revision != revision):
		t.Errorf("%q: got %v, want %q at %d", value, got, start, revision)
	}
}

func FuzzDecodeContinue(f *testing.F) {
	f.Add([]byte(`{"v":"meta.k8s.io/v1","rv":5,"start":"ns/name\u0000"}`))
	f.Add([]byte(`{"v":"meta.k8s.io/v1","rv":-1,"start":"/a"}`))
	f.Add([]byte(`{"v":"meta.k8s.io/v1","rv":1,"start":"../x"}`))
	f.Fuzz(func(t *testing.T, decoded []byte) {
		checkDecodeContinue(t, base64.RawURLEncoding.EncodeToString(decoded))
	})
}
