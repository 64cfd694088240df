package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
)

// userCommand runs crd-server user with the data directory of a server, in a directory of the test.
type userCommand struct {
	*testing.T
	dir, dataDir string
}

func newUserCommand(t *testing.T, server *process.Server) *userCommand {
	return &userCommand{t, t.TempDir(), filepath.Dir(server.Kubeconfig)}
}

// try runs the command and returns its output, and the error that it prints.
func (u *userCommand) try(args ...string) (stdout, failure string) {
	u.Helper()
	command := exec.CommandContext(u.Context(), programs.Server(), append([]string{"user"}, args...)...)
	command.Dir, command.Env = u.dir, append(os.Environ(), "CRD_SERVER_DATA_DIR="+u.dataDir)
	var out, errors bytes.Buffer
	command.Stdout, command.Stderr = &out, &errors
	if err := command.Run(); (err != nil) != strings.HasPrefix(errors.String(), "crd-server: ") {
		u.Errorf("crd-server user %s: %v: %s", strings.Join(args, " "), err, &errors)
	}
	return out.String(), errors.String()
}

// run runs the command, which must succeed.
func (u *userCommand) run(args ...string) string {
	u.Helper()
	out, failure := u.try(args...)
	if failure != "" {
		u.Fatalf("crd-server user %s: %s", strings.Join(args, " "), failure)
	}
	return out
}

// login returns the client configuration in a kubeconfig, for one connection of its own.
func (u *userCommand) login(file string) *rest.Config {
	u.Helper()
	path := filepath.Join(u.dir, file)
	info, err := os.Stat(path)
	if err != nil {
		u.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		u.Errorf("%s has mode %o", file, mode)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		u.Fatal(err)
	}
	config.Dial = new(net.Dialer).DialContext // client-go shares connections otherwise
	return config
}

// tlsClient returns a function that gets a URL over a new connection, which resumes the TLS session of the last one.
func tlsClient(t *testing.T, config *rest.Config) func(url string) (code int) {
	t.Helper()
	session, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	session.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: session, DisableKeepAlives: true}}
	first := true
	return func(url string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
		if !first && !response.TLS.DidResume {
			t.Error("the session was not resumed")
		}
		first = false
		return response.StatusCode
	}
}

// whoami returns the user and the groups of a client; "" if the server does not know it.
func whoami(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	review, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(),
		&authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if status, ok := err.(interface{ Status() metav1.Status }); ok && status.Status().Code == http.StatusUnauthorized {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.UserInfo.Username + " " + strings.Join(review.Status.UserInfo.Groups, ",")
}

// TestUsers adds a user, uses the kubeconfig, removes the user while it has a connection and a watch, and adds it
// again.
func TestUsers(t *testing.T) {
	t.Parallel()
	server := run(t, "--authorization-mode=AlwaysAllow")
	u := newUserCommand(t, server)
	u.run("add", "alice", "--group", "dev", "--group", "ops")
	alice := clientset(t, u.login("alice.kubeconfig"))
	const known = "alice dev,ops,system:authenticated"
	if got := whoami(t, alice); got != known {
		t.Errorf("alice is %q", got)
	}
	if _, failure := u.try("add", "alice", "--kubeconfig=other"); !strings.Contains(failure, "exists already") {
		t.Errorf("alice was added twice: %q", failure)
	}
	if _, failure := u.try("add", "bob", "--kubeconfig=alice.kubeconfig"); !strings.Contains(failure, "--force") {
		t.Errorf("the kubeconfig was replaced: %q", failure)
	}
	u.run("add", "alice", "--renew", "--kubeconfig=renewed")
	renewed := clientset(t, u.login("renewed"))
	if got := whoami(t, renewed); got != known {
		t.Errorf("with the other certificate alice is %q", got)
	}

	resuming := tlsClient(t, u.login("alice.kubeconfig"))
	if code := resuming(server.URL + "/version"); code != http.StatusOK {
		t.Errorf("alice gets %d", code)
	}
	watch, err := alice.CoreV1().Namespaces().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	u.run("remove", "alice")
	for range watch.ResultChan() { // ends with the watch
	}
	for name, client := range map[string]kubernetes.Interface{"first": alice, "other": renewed,
		"first, on a new connection": clientset(t, u.login("alice.kubeconfig"))} {
		if got := whoami(t, client); got != "" {
			t.Errorf("with the %s certificate alice is still %q", name, got)
		}
	}
	if code := resuming(server.URL + "/version"); code != http.StatusUnauthorized {
		t.Errorf("with a resumed TLS session, alice gets %d", code)
	}
	if _, failure := u.try("remove", "alice"); !strings.Contains(failure, "was removed already") {
		t.Errorf("alice was removed twice: %q", failure)
	}

	u.run("add", "alice", "--kubeconfig=again")
	if got := whoami(t, clientset(t, u.login("again"))); got != "alice system:authenticated" {
		t.Errorf("the new alice is %q", got)
	}
	if got := whoami(t, alice); got != "" {
		t.Errorf("the removed alice is %q again", got)
	}
	var listed []struct {
		Name         string
		Certificates []struct{ Groups, Created, Expires, Removed any }
	}
	if err := json.Unmarshal([]byte(u.run("list", "-o", "json")), &listed); err != nil {
		t.Fatal(err)
	}
	if len(listed) != 1 || len(listed[0].Certificates) != 3 || listed[0].Certificates[0].Removed == nil ||
		listed[0].Certificates[2].Removed != nil {
		t.Errorf("listed %+v", listed)
	}
}

// TestUserTokens gives a program the token of a service account, which ends with the account.
func TestUserTokens(t *testing.T) {
	t.Parallel()
	server := run(t)
	u := newUserCommand(t, server)
	u.run("token", "bot", "--expires=1h")
	bot := clientset(t, u.login("bot.kubeconfig"))
	const known = "system:serviceaccount:default:bot " +
		"system:serviceaccounts,system:serviceaccounts:default,system:authenticated"
	if got := whoami(t, bot); got != known {
		t.Errorf("the bot is %q", got)
	}
	u.run("token", "bot", "--kubeconfig=other") // of the same account
	accounts := clientset(t, adminConfig(t, server)).CoreV1().ServiceAccounts("default")
	if err := accounts.Delete(t.Context(), "bot", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, client := range []kubernetes.Interface{bot, clientset(t, u.login("other"))} {
		if got := whoami(t, client); got != "" {
			t.Errorf("without its account, the bot is %q", got)
		}
	}
	if _, failure := u.try("token", "bot", "--namespace=nowhere", "--kubeconfig=-"); !strings.Contains(failure,
		"not found") {
		t.Errorf("a token in no namespace: %q", failure)
	}
}

// TestUsersOfReplicas removes a user of two replicas, which have the same authority, and starts one of them again.
func TestUsersOfReplicas(t *testing.T) {
	t.Parallel()
	r := startReplicas(t, 1, 2)
	u := newUserCommand(t, r.servers[0])
	u.run("add", "alice")
	var clients []kubernetes.Interface
	for n, server := range r.servers {
		config := u.login("alice.kubeconfig")
		config.Host = server.URL
		clients = append(clients, clientset(t, config))
		if got := whoami(t, clients[n]); got != "alice system:authenticated" {
			t.Errorf("to replica %d, alice is %q", n, got)
		}
	}
	u.run("remove", "alice")
	for _, client := range clients {
		err := wait.PollUntilContextTimeout(t.Context(), pollInterval, patience, true, func(context.Context) (bool, error) {
			return whoami(t, client) == "", nil
		})
		if err != nil {
			t.Errorf("a replica does not refuse alice: %v", err)
		}
	}
	r.restart(1)
	if got := whoami(t, clients[1]); got != "" {
		t.Errorf("after the restart alice is %q", got)
	}
}

// TestUsersNeedSecrets checks that a server without Secrets adds no users.
func TestUsersNeedSecrets(t *testing.T) {
	t.Parallel()
	u := newUserCommand(t, run(t, "--builtin-resources=none"))
	for _, args := range [][]string{{"add", "alice"}, {"list"}, {"remove", "alice"}} {
		if _, failure := u.try(args...); !strings.Contains(failure, "serves no Secrets") ||
			strings.Count(failure, "\n") != 1 {
			t.Errorf("%v: %q", args, failure)
		}
	}
	if _, err := os.Stat(filepath.Join(u.dir, "alice.kubeconfig")); err == nil {
		t.Error("the kubeconfig was written")
	}
}

// TestUserGetsRights gives a user a role in one namespace, which ends with the binding and with the user.
func TestUserGetsRights(t *testing.T) {
	t.Parallel()
	server := run(t)
	u := newUserCommand(t, server)
	u.run("add", "alice", "--group", "dev")
	admin, alice := clientset(t, adminConfig(t, server)), clientset(t, u.login("alice.kubeconfig"))
	create := func(namespace string) error {
		_, err := alice.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "of-alice-"},
		}, metav1.CreateOptions{})
		return err
	}
	if err := create("default"); !apierrors.IsForbidden(err) {
		t.Errorf("without a role: %v", err)
	}
	_, err := admin.RbacV1().RoleBindings("default").Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "dev-edits"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "dev"}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := create("default"); err != nil {
		t.Errorf("with a role: %v", err)
	}
	if err := create("kube-system"); !apierrors.IsForbidden(err) {
		t.Errorf("in another namespace: %v", err)
	}
	_, err = alice.CoreV1().Secrets("kube-system").Get(t.Context(), "crd-server-user-alice", metav1.GetOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("the own record: %v", err)
	}
	u.run("remove", "alice")
	err = wait.PollUntilContextTimeout(t.Context(), pollInterval, patience, true, func(context.Context) (bool, error) {
		return apierrors.IsUnauthorized(create("default")), nil
	})
	if err != nil {
		t.Errorf("after the removal: %v", err)
	}
}
