package rbac

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// attack is a request of somebody who wants more rights than he has. The servers must answer with the code, and with
// the same message.
type attack struct {
	Name, User string
	// Request is the method and the path.
	Request string
	Header  http.Header
	Body    string
	Code    int
}

// readAttacks returns the attacks in testdata.
func readAttacks(t *testing.T) (attacks []attack) {
	t.Helper()
	content, err := os.ReadFile("testdata/attacks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(content, &attacks); err != nil {
		t.Fatal(err)
	}
	return attacks
}

// TestAttacks sends the attacks to our server.
func TestAttacks(t *testing.T) {
	t.Parallel()
	if *upstream {
		t.Skip("with -upstream, TestDifferentialAttacks sends them to kube-apiserver too")
	}
	s := startOurs(t)
	people := s.invite(t)
	for _, a := range readAttacks(t) {
		if code, message := people.try(t, a); code != a.Code {
			t.Errorf("%s: %d, want %d: %s", a.Name, code, a.Code, message)
		}
	}
}

// TestDifferentialAttacks sends the attacks to both servers, and compares the codes and messages.
func TestDifferentialAttacks(t *testing.T) {
	if !*upstream {
		t.Skip("without -upstream")
	}
	p := pair{t, startTheirs(t), startOurs(t)}
	until(t, "kube-apiserver has its roles", func(context.Context) (bool, error) { return p.theirs.aggregated(t), nil })
	theirs, ours := p.theirs.invite(t), p.ours.invite(t)
	p.settle("invited")
	for _, a := range readAttacks(t) {
		code, want := theirs.try(t, a)
		if got, message := ours.try(t, a); code != a.Code || got != a.Code || want != message {
			t.Errorf("%s: want %d\nkube-apiserver: %d %s\ncrd-server:     %d %s", a.Name, a.Code, code, want, got, message)
		}
	}
}

// people are the users of attacks and what they have.
type people map[string]*rest.Config

// allow returns the rule that allows verbs on resources of a group, which is empty for core.
func allow(verbs, group, resources string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		Verbs: strings.Split(verbs, ","), APIGroups: []string{group}, Resources: strings.Split(resources, ","),
		ResourceNames: names,
	}
}

const (
	allWrites      = "get,list,watch,create,update,patch,delete,deletecollection"
	authentication = "authentication.k8s.io"
)

// invite creates the users: mallory is the admin of the namespace default, eve may write roles and bindings everywhere,
// but neither bind nor escalate, ivy may impersonate bob with some attributes, carl may impersonate bob for reads only
// (constrained impersonation), and tess may ask for tokens of one account. peter has nothing.
func (s *server) invite(t *testing.T) people {
	t.Helper()
	everywhere := map[string][]rbacv1.PolicyRule{
		"eve": {
			allow(allWrites, rbacv1.GroupName, "roles,rolebindings,clusterroles,clusterrolebindings"),
			allow("get", "", "configmaps"),
		},
		"ivy": {
			allow("impersonate", "", "users", "bob"), allow("impersonate", "", "groups", "dev"),
			allow("impersonate", "", "serviceaccounts", "robot"),
			allow("impersonate", authentication, "uids", "7"), allow("impersonate", authentication, "userextras/scopes", "view"),
		},
		"carl": {
			allow("impersonate:user-info", authentication, "users", "bob"),
			allow("impersonate-on:user-info:list", "", "configmaps"),
		},
		"tess": {allow("create", "", "serviceaccounts/token", "robot"), allow("get,list", "", "serviceaccounts")},
		"bob":  {allow("list,delete", "", "configmaps")},
	}
	invited := people{"peter": s.certified(t, "peter", nil), "mallory": s.certified(t, "mallory", nil)}
	var objects []object
	for name, rules := range everywhere {
		invited[name] = s.certified(t, name, nil)
		meta := metav1.ObjectMeta{Name: name}
		objects = append(objects, object{clusterRole: &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}},
			object{clusterBinding: &rbacv1.ClusterRoleBinding{
				ObjectMeta: meta, RoleRef: roleRef("ClusterRole", name), Subjects: subject(name),
			}})
	}
	objects = append(objects, object{binding: &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "mallory", Namespace: inNamespace},
		RoleRef:    roleRef("ClusterRole", "admin"), Subjects: subject("mallory"),
	}})
	for _, obj := range objects {
		if reason, err := s.write(t.Context(), create, obj); reason != "" || err != nil {
			t.Fatal(reason, err)
		}
	}
	for _, name := range []string{"robot", "other"} {
		if err := s.createAccount(t.Context(), inNamespace, name); err != nil {
			t.Fatal(err)
		}
	}
	invited["robot"] = s.tokened(t, inNamespace, "robot")
	return invited
}

func roleRef(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

func subject(name string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: name}}
}

// try sends an attack, and returns the code and, of a refusal, the message.
func (p people) try(t *testing.T, a attack) (code int, message string) {
	t.Helper()
	client, err := rest.HTTPClientFor(p[a.User])
	if err != nil {
		t.Fatal(err)
	}
	method, path, _ := strings.Cut(a.Request, " ")
	request, err := http.NewRequestWithContext(t.Context(), method, p[a.User].Host+path, strings.NewReader(a.Body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	maps.Copy(request.Header, a.Header)
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode < 400 {
		return response.StatusCode, ""
	}
	var status metav1.Status
	if err := json.Unmarshal(body, &status); err != nil {
		return response.StatusCode, string(body)
	}
	// kube-apiserver names an internal type, which our server does not have.
	return response.StatusCode, strings.ReplaceAll(status.Message, "(rbac.Role)", "(v1.Role)")
}
