package users

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// hour returns the start of an hour of the test.
func hour(n int) metav1.Time { return metav1.NewTime(time.Unix(int64(n)*3600, 0)) }

func certificate(id string, created, expires int) Certificate {
	return Certificate{ID: id, Groups: []string{"dev"}, Created: hour(created), Expires: hour(expires)}
}

func TestRecord(t *testing.T) {
	r := &Record{Name: "alice", Certificates: []Certificate{certificate("a", 0, 10), certificate("b", 1, 20)}}
	for _, id := range []string{"a", "b", "unknown"} {
		if !r.Allows(id) {
			t.Errorf("%s is refused though alice was never removed", id)
		}
	}
	r.Remove(hour(2))
	r.Certificates = append(r.Certificates, certificate("c", 3, 30))
	for id, want := range map[string]bool{"a": false, "b": false, "unknown": false, "c": true} {
		if r.Allows(id) != want {
			t.Errorf("after the removal, %s: %t", id, !want)
		}
	}
	if !r.Active(hour(29)) || r.Active(hour(30)) {
		t.Error("alice must be active until the last certificate expires")
	}
	if r.DropExpired(hour(9)) || !r.DropExpired(hour(10)) || len(r.Certificates) != 2 {
		t.Errorf("left %+v", r.Certificates)
	}
	r.Remove(hour(11))
	if r.Allows("c") || r.Active(hour(11)) || !r.Certificates[0].Removed.Equal(new(hour(2))) {
		t.Errorf("removed again: %+v", r)
	}
	secret, err := r.Secret()
	if err != nil {
		t.Fatal(err)
	}
	read, err := FromSecret(secret)
	if err != nil || cmp.Diff(r, read) != "" {
		t.Errorf("%v %s", err, cmp.Diff(r, read))
	}
	secret.Name = SecretName("bob")
	if _, err := FromSecret(secret); err == nil {
		t.Error("the Secret of bob has the record of alice")
	}
}

// TestSecretName checks that each user has a Secret of its own, with a valid name.
func TestSecretName(t *testing.T) {
	users := map[string]string{}
	for _, user := range []string{
		"alice", "Alice", "a.b", "a b", "alice@example.com", "ä", "a/b", ".", "-", "alice.", strings.Repeat("a", 64),
		"sha256-" + strings.Repeat("0", 64), strings.TrimPrefix(SecretName("Alice"), namePrefix),
	} {
		name := SecretName(user)
		if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 {
			t.Errorf("%q: %s is no name: %v", user, name, errs)
		}
		if other, taken := users[name]; taken {
			t.Errorf("%q and %q have the Secret %s", user, other, name)
		}
		users[name] = user
	}
	if got := SecretName("alice"); got != "crd-server-user-alice" {
		t.Errorf("the Secret of alice is %s", got)
	}
}
