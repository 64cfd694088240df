package credentials

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/crd-server/crd-server/internal/users"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		user  NewUser
		valid bool
	}{
		{NewUser{Name: "alice", Groups: []string{"dev", "system:masters"}}, true},
		{NewUser{Name: "Alice Müller@example.com"}, true},
		{NewUser{Name: strings.Repeat("a", 64)}, true},
		{NewUser{Name: strings.Repeat("a", 65)}, false},
		{NewUser{}, false},
		{NewUser{Name: " alice"}, false},
		{NewUser{Name: "al\nice"}, false},
		{NewUser{Name: "system:kube-controller-manager"}, false},
		{NewUser{Name: users.Admin}, false},
		{NewUser{Name: "alice", Groups: []string{""}}, false},
		{NewUser{Name: "alice", Groups: []string{strings.Repeat("a", 65)}}, false},
		{NewUser{Name: "alice", Lifetime: -time.Hour}, false},
	} {
		if test.user.Lifetime == 0 {
			test.user.Lifetime = time.Hour
		}
		if err := test.user.Validate(); (err == nil) != test.valid {
			t.Errorf("%+v: %v", test.user, err)
		}
	}
}

// managerAt returns a manager at an hour, of a server that has some records.
func managerAt(t *testing.T, hour int, records ...*users.Record) *Manager {
	t.Helper()
	client := fake.NewClientset()
	for _, r := range records {
		secret, err := r.Secret()
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.CoreV1().Secrets(users.Namespace).Create(t.Context(), secret, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	return &Manager{
		client: client, cluster: &clientcmdapi.Cluster{Server: "https://crds:6443"},
		now: func() time.Time { return at(hour).Time },
	}
}

func at(hour int) metav1.Time { return metav1.NewTime(time.Unix(int64(hour)*3600, 0)) }

func until(hours ...int) (certificates []users.Certificate) {
	for _, hour := range hours {
		certificates = append(certificates, users.Certificate{ID: "x", Created: at(0), Expires: at(hour)})
	}
	return certificates
}

// TestRemove checks which users can be removed, and that expired certificates are forgotten but not removals.
func TestRemove(t *testing.T) {
	t.Parallel()
	earlier := at(1)
	m := managerAt(t, 5,
		&users.Record{Name: "alice", Certificates: until(4, 10)},
		&users.Record{Name: "bob", Certificates: until(4)},
		&users.Record{Name: "carol", Certificates: until(4), Removed: &earlier},
		&users.Record{Name: "dan", Certificates: until(10)},
	)
	for _, test := range []struct {
		name    string
		unknown bool
		want    string
	}{
		{"alice", false, ""},
		{"alice", false, "was removed already, at 1970-01-01T05:00:00Z"},
		{"bob", false, "was not added"},
		{"carol", false, "was removed already"},
		{"eve", false, "was not added"},
		{"eve", true, ""},
		{users.Admin, true, "belongs to the system"},
		{"system:node", true, "belongs to the system"},
	} {
		err := m.Remove(t.Context(), test.name, test.unknown)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	records, err := m.records(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, r := range records {
		left = append(left, r.Name)
		want := 0
		if r.Name == "alice" || r.Name == "dan" {
			want = 1
		}
		if len(r.Certificates) != want {
			t.Errorf("%s has %d certificates", r.Name, len(r.Certificates))
		}
	}
	if !slices.Equal(left, []string{"alice", "carol", "dan", "eve"}) {
		t.Errorf("left are %v", left)
	}
}

func TestRecordOfANewCertificate(t *testing.T) {
	t.Parallel()
	m := managerAt(t, 5, &users.Record{Name: "alice", Certificates: []users.Certificate{
		{ID: "a", Groups: []string{"dev"}, Expires: at(10)},
	}})
	for _, test := range []struct {
		user   NewUser
		groups []string
		fails  bool
	}{
		{NewUser{Name: "alice"}, nil, true},
		{NewUser{Name: "alice", Renew: true}, []string{"dev"}, false},
		{NewUser{Name: "alice", Renew: true, Groups: []string{"ops"}}, []string{"ops"}, false},
		{NewUser{Name: "bob", Groups: []string{"dev"}}, []string{"dev"}, false},
		{NewUser{Name: "carol", Renew: true}, nil, true},
	} {
		groups, err := m.groups(t.Context(), &test.user)
		if err == nil {
			err = m.record(t.Context(), &test.user, users.Certificate{ID: "b", Groups: groups, Created: at(5), Expires: at(9)})
		}
		if (err != nil) != test.fails || err == nil && !slices.Equal(groups, test.groups) {
			t.Errorf("%+v: %v %v", test.user, groups, err)
		}
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := (File{Path: path}).Check(); err != nil {
		t.Error(err)
	}
	if err := (File{Path: path}).Write([]byte("one")); err != nil {
		t.Error(err)
	}
	if err := (File{Path: path}).Check(); err == nil {
		t.Error("the file exists")
	}
	if err := (File{Path: path}).Write([]byte("two")); err == nil {
		t.Error("the file was replaced")
	}
	if err := (File{Path: path, Force: true}).Write([]byte("three")); err != nil {
		t.Error(err)
	}
	content, err := os.ReadFile(path)
	info, _ := os.Stat(path)
	if err != nil || string(content) != "three" || info.Mode().Perm() != 0o600 {
		t.Errorf("%s %v %v", content, info.Mode(), err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("left %v", entries)
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	removed := at(3)
	m := managerAt(t, 5,
		&users.Record{Name: "alice", Certificates: []users.Certificate{
			{ID: "x", Groups: []string{"dev", "ops"}, Created: at(1), Expires: at(9)},
		}},
		&users.Record{Name: "bob", Removed: &removed},
	)
	for format, want := range map[string]string{
		"": "NAME    GROUPS    CREATED                EXPIRES                REMOVED\n" +
			"alice   dev,ops   1970-01-01T01:00:00Z   1970-01-01T09:00:00Z   <none>\n" +
			"bob     <none>    <none>                 <none>                 1970-01-01T03:00:00Z\n",
		"yaml": "- certificates:\n  - created: \"1970-01-01T01:00:00Z\"\n    expires: \"1970-01-01T09:00:00Z\"\n" +
			"    groups:\n    - dev\n    - ops\n    id: x\n  name: alice\n- name: bob\n  removed: \"1970-01-01T03:00:00Z\"\n",
	} {
		var out bytes.Buffer
		if err := m.Print(t.Context(), &out, format); err != nil || out.String() != want {
			t.Errorf("%q: %v\n%s", format, err, &out)
		}
	}
	if err := m.Print(t.Context(), &bytes.Buffer{}, "wide"); err == nil {
		t.Error("there is no such format")
	}
}
