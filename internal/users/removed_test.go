package users

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// keyOf returns the key of the record of a user.
func keyOf(name string) string { return "secrets/kube-system/" + SecretName(name) }

// observation returns the state of a record's key.
func observation(t *testing.T, r *Record) dynamicstorage.Observation {
	t.Helper()
	secret, err := r.Secret()
	if err != nil {
		t.Fatal(err)
	}
	secret.APIVersion, secret.Kind = "v1", "Secret"
	value, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	return dynamicstorage.Observation{Key: keyOf(r.Name), Value: value}
}

// by returns a user with a certificate.
func by(name, id string) user.Info {
	return &user.DefaultInfo{Name: name, Extra: map[string][]string{user.CredentialIDKey: {"X509SHA256=" + id}}}
}

// scanned returns a Removed that has read records.
func scanned(t *testing.T, records ...*Record) *Removed {
	t.Helper()
	r := NewRemoved()
	r.Reset()
	for _, record := range records {
		r.Observe(observation(t, record))
	}
	r.Scanned(1)
	return r
}

// removed returns the record of a user who was removed and then got the certificate "new".
func removed(name string) *Record {
	r := &Record{Name: name, Certificates: []Certificate{certificate("X509SHA256=old", 0, 10)}}
	r.Remove(hour(1))
	r.Certificates = append(r.Certificates, certificate("X509SHA256=new", 1, 10))
	return r
}

func TestRefuse(t *testing.T) {
	r := scanned(t, removed("alice"), removed(Admin), removed("system:node"), &Record{Name: "bob"})
	for _, test := range []struct {
		name   string
		user   user.Info
		refuse bool
	}{
		{"a removed certificate", by("alice", "old"), true},
		{"one without a record", by("alice", "other"), true},
		{"one that was added since", by("alice", "new"), false},
		{"a user who was not removed", by("bob", "old"), false},
		{"an unknown user", by("eve", "old"), false},
		{"the admin", by(Admin, "old"), false},
		{"a user of the system", by("system:node", "old"), false},
		{"a token", &user.DefaultInfo{Name: "alice", Extra: map[string][]string{user.CredentialIDKey: {"JTI=1"}}}, false},
		{"no credential", &user.DefaultInfo{Name: "alice"}, false},
	} {
		if err := r.Refuse(t.Context(), test.user); (err != nil) != test.refuse {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestRefuseFollows checks that records have effect when they change, and that one that cannot be read does not let a
// user in again.
func TestRefuseFollows(t *testing.T) {
	r := scanned(t, removed("alice"))
	refuses := func(name, id string) bool { return r.Refuse(t.Context(), by(name, id)) != nil }
	r.Observe(observation(t, removed("bob")))
	if !refuses("bob", "old") || !refuses("alice", "old") {
		t.Error("not both are refused")
	}
	r.Observe(dynamicstorage.Observation{Key: keyOf("bob"), Err: errors.New("no key")})
	if !refuses("bob", "old") {
		t.Error("a record that cannot be read has let bob in")
	}
	r.Reset()
	r.Observe(dynamicstorage.Observation{Key: keyOf("alice"), Value: []byte("{")})
	if !refuses("alice", "old") || !refuses("bob", "old") {
		t.Error("a scan has let somebody in")
	}
	r.Scanned(1) // bob has no record any more
	if !refuses("alice", "old") || refuses("bob", "old") {
		t.Error("the scan was not applied")
	}
	r.Observe(dynamicstorage.Observation{Key: keyOf("alice"), Deleted: true})
	if refuses("alice", "old") {
		t.Error("alice is refused without a record")
	}
	other := observation(t, removed("eve"))
	other.Value = bytes.Replace(other.Value, []byte(SecretType), []byte(corev1.SecretTypeOpaque), 1)
	r.Observe(other)
	if refuses("eve", "old") {
		t.Error("another Secret refuses eve")
	}
}

// TestRefuseWaits checks that nobody but the admin is let in before the records are known.
func TestRefuseWaits(t *testing.T) {
	r := NewRemoved()
	ended, end := context.WithCancel(t.Context())
	end()
	if err := r.Refuse(ended, by("alice", "old")); !errors.Is(err, context.Canceled) {
		t.Errorf("alice: %v", err)
	}
	if err := r.Refuse(t.Context(), by(Admin, "old")); err != nil {
		t.Errorf("the admin: %v", err)
	}
	refused := make(chan error)
	go func() { refused <- r.Refuse(t.Context(), by("alice", "old")) }() // ends after Scanned
	r.Reset()
	r.Observe(observation(t, removed("alice")))
	r.Scanned(1)
	if <-refused == nil {
		t.Error("alice was let in")
	}
}

// TestWatchesEnd checks that the watches of a certificate end with it, and no others.
func TestWatchesEnd(t *testing.T) {
	r := scanned(t)
	watching := map[string]context.Context{}
	var stops []func()
	for _, u := range []user.Info{
		by("alice", "old"), by("alice", "new"), by("bob", "old"), &user.DefaultInfo{Name: "carol"},
	} {
		ctx, stop := r.Watch(t.Context(), u)
		name := u.GetName()
		if id, ok := certificateOf(u); ok {
			name += id
		}
		watching[name], stops = ctx, append(stops, stop)
	}
	r.Observe(observation(t, removed("alice")))
	for name, ctx := range watching {
		if ended := ctx.Err() != nil; ended != (name == "aliceX509SHA256=old") {
			t.Errorf("%s: ended is %t", name, ended)
		}
	}
	if late, stop := r.Watch(t.Context(), by("alice", "old")); late.Err() == nil {
		t.Error("a watch of a removed user begins")
	} else {
		stops = append(stops, stop)
	}
	for _, stop := range stops {
		stop()
	}
	if len(r.watches) > 0 {
		t.Errorf("left %v", r.watches)
	}
}
