package envtest

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// start starts an environment, which the test stops.
func start(t *testing.T, configure func(*envtest.Environment)) (*envtest.Environment, client.Client) {
	t.Helper()
	environment := newEnvironment()
	environment.ControlPlane.Etcd = &envtest.Etcd{}
	var logs bytes.Buffer
	environment.ControlPlane.GetAPIServer().Err = &logs
	if configure != nil {
		configure(environment)
	}
	config, err := environment.Start()
	if err != nil {
		t.Fatalf("%v\n%s", err, logs.Bytes()[max(0, logs.Len()-2000):])
	}
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	return environment, newClient(t, config)
}

func newEnvironment() *envtest.Environment {
	const patience = time.Minute // for machines that are busy
	return &envtest.Environment{
		BinaryAssetsDirectory: underTest(), ControlPlaneStartTimeout: patience, ControlPlaneStopTimeout: patience,
	}
}

func newClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newCronTab(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "stable.example.com/v1", "kind": "CronTab",
		"metadata": map[string]any{"namespace": "default", "name": name},
		"spec":     map[string]any{"cronSpec": "* * * * */5", "image": "my-cron-image"},
	}}
}

// TestEnvironment installs a CRD, uses it as administrator, as another user and by kubectl.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	environment, admin := start(t, func(e *envtest.Environment) {
		e.CRDDirectoryPaths = []string{filepath.Join("..", "..", "config", "samples", "crontabs.yaml")}
		e.ErrorIfCRDPathMissing = true
	})
	if err := admin.Create(t.Context(), newCronTab("first")); err != nil {
		t.Fatal(err)
	}
	user, err := environment.AddUser(envtest.User{Name: "jane", Groups: []string{"dev"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	jane := newClient(t, user.Config())
	if err := jane.Create(t.Context(), newCronTab("second")); !apierrors.IsForbidden(err) {
		t.Errorf("jane created an object: %v", err)
	}
	//lint:ignore SA1019 tests that use it must work
	kubectl := environment.ControlPlane.KubeCtl()
	stdout, stderr, err := kubectl.Run("get", "crontabs", "-o", "name")
	if err != nil {
		t.Fatalf("%v %s", err, read(t, stderr))
	}
	if got := read(t, stdout); got != "crontab.stable.example.com/first\n" {
		t.Errorf("kubectl printed %q", got)
	}
}

func read(t *testing.T, from io.Reader) string {
	t.Helper()
	content, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestNoControllers checks that there are no controllers of kube-controller-manager: a namespace stays terminating, and
// a dependent of an absent owner stays.
func TestNoControllers(t *testing.T) {
	t.Parallel()
	_, admin := start(t, nil)
	dependent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "dependent",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: "absent", UID: "1"}},
	}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "short"}}
	for _, object := range []client.Object{dependent, namespace} {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	if err := admin.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	if err := admin.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); err != nil {
		t.Fatal(err)
	}
	if namespace.Status.Phase != corev1.NamespaceTerminating || len(namespace.Spec.Finalizers) != 1 {
		t.Errorf("the namespace is %s with finalizers %v", namespace.Status.Phase, namespace.Spec.Finalizers)
	}
	accounts := &corev1.ServiceAccountList{}
	if err := admin.List(t.Context(), accounts); err != nil || len(accounts.Items) > 0 {
		t.Errorf("%d service accounts, %v", len(accounts.Items), err)
	}
	leases, err := namesOf(t, admin, "coordination.k8s.io/v1", "LeaseList")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range leases {
		if strings.HasPrefix(name, "crd-server") {
			t.Errorf("there is a lease %s", name)
		}
	}
}

func namesOf(t *testing.T, c client.Client, apiVersion, kind string) (names []string, err error) {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(apiVersion)
	list.SetKind(kind)
	err = c.List(t.Context(), list)
	for _, item := range list.Items {
		names = append(names, item.GetName())
	}
	return names, err
}

// TestArguments starts environments with the arguments that users add, replace and leave out.
func TestArguments(t *testing.T) {
	t.Parallel()
	_, admin := start(t, func(e *envtest.Environment) {
		e.ControlPlane.GetAPIServer().Configure().
			Set("advertise-address", "192.0.2.2").
			Set("external-hostname", "api.example.com").
			Append("disable-admission-plugins", "MutatingAdmissionWebhook", "PodSecurity").
			Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement").
			Append("feature-gates", "InPlacePodVerticalScaling=true,WatchListClient=true").
			Set("runtime-config", "events.k8s.io/v1=false,storage.k8s.io/v1beta1=true").
			Set("tls-cipher-suites", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256").
			Set("tls-min-version", "VersionTLS12").
			Enable("profiling").
			Disable("allow-privileged").
			Set("enable-priority-and-fairness", "false").
			Set("max-requests-inflight", "800").
			Set("watch-cache", "false").
			Set("v", "1")
		e.ControlPlane.Etcd.Configure().Append("quota-backend-bytes", "100000000")
	})
	if _, err := namesOf(t, admin, "v1", "EventList"); err != nil {
		t.Error(err)
	}
	if names, err := namesOf(t, admin, "events.k8s.io/v1", "EventList"); err == nil {
		t.Errorf("events.k8s.io/v1 is served: %v", names)
	}
}

// TestAlwaysAllow checks that another authorizer can be chosen.
func TestAlwaysAllow(t *testing.T) {
	if *upstream {
		t.Skip("kube-apiserver refuses anonymous users in this mode, and envtest asks for its health as one")
	}
	t.Parallel()
	environment, _ := start(t, func(e *envtest.Environment) {
		e.ControlPlane.GetAPIServer().Configure().Set("authorization-mode", "AlwaysAllow")
	})
	user, err := environment.AddUser(envtest.User{Name: "jane"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "allowed"}}
	if err := newClient(t, user.Config()).Create(t.Context(), object); err != nil {
		t.Error(err)
	}
}

// TestRestart starts an environment again, and checks that it leaves no files.
func TestRestart(t *testing.T) { // sets TMPDIR, so it is not parallel
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	environment := newEnvironment()
	for range 2 {
		config, err := environment.Start()
		if err != nil {
			t.Fatal(err)
		}
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "once"}}
		if err := newClient(t, config).Create(t.Context(), object); err != nil {
			t.Error(err)
		}
		if err := environment.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range left {
		t.Errorf("%s is left", entry.Name())
	}
}
