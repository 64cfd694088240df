package helm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/crd-server/crd-server/test/process"
	"github.com/crd-server/crd-server/test/programs"
)

const (
	chartFolder = "testdata/site"
	release     = "site"
	namespace   = "web"
	patience    = 30 * time.Second
)

// installer is a version of helm.
type installer interface {
	install(values map[string]any) error
	// upgrade rolls back if it fails.
	upgrade(values map[string]any) error
	rollback(revision int) error
	uninstall() error
	// history lists revisions with their states.
	history() ([]string, error)
}

func TestMain(m *testing.M) {
	if err := programs.CheckServer(); err != nil {
		fmt.Fprintln(os.Stderr, "helm:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestHelm(t *testing.T) {
	t.Parallel()
	for name, connect := range map[string]func(*genericclioptions.ConfigFlags) (installer, error){
		"3": newHelm3, "4": newHelm4,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			useHelm(t, connect)
		})
	}
}

func useHelm(t *testing.T, connect func(*genericclioptions.ConfigFlags) (installer, error)) {
	flags := startServer(t)
	helm, err := connect(flags)
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, flags)
	s.must(helm.install(nil))
	s.has("configmaps settings.data.color=blue", "configmaps settings.data.group=true", "configmaps hook.data.revision=1",
		"secrets key.data.color=Ymx1ZQ==", "pages front.spec.color=blue")
	s.lacks("configmaps extra")
	s.hasHistory(helm, "1 deployed")

	// Others may change what is not in the chart.
	s.patch("configmaps", "settings", `{"data":{"theirs":"stays"}}`)
	s.patch("serviceaccounts", "site", `{"secrets":[{"name":"theirs"}]}`)
	s.must(helm.upgrade(map[string]any{"color": "red", "extra": true}))
	s.has("configmaps settings.data.color=red", "configmaps settings.data.theirs=stays", "configmaps hook.data.revision=2",
		"secrets key.data.color=cmVk", "pages front.spec.color=red", "configmaps extra.metadata.name=extra")
	s.hasHistory(helm, "1 superseded", "2 deployed")
	if secrets := s.names("serviceaccounts", "site", "secrets"); !slices.Equal(secrets, []string{"theirs", "key"}) {
		t.Errorf("the service account has the secrets %v", secrets)
	}

	// An upgrade that the server refuses is rolled back.
	err = helm.upgrade(map[string]any{"color": "green", "replicas": 11, "extra": true})
	const refusal = `Page.site.example.com "front" is invalid: spec.replicas: Invalid value: 11: `
	if err == nil || !strings.Contains(err.Error(), refusal) {
		t.Errorf("the upgrade failed with %v, and not with %s", err, refusal)
	}
	s.has("configmaps settings.data.color=red", "secrets key.data.color=cmVk", "pages front.spec.color=red",
		"configmaps extra.metadata.name=extra")
	s.hasHistory(helm, "1 superseded", "2 superseded", "3 failed", "4 deployed")

	s.must(helm.rollback(1))
	s.has("configmaps settings.data.color=blue", "secrets key.data.color=Ymx1ZQ==", "pages front.spec.color=blue")
	s.lacks("configmaps extra")
	s.hasHistory(helm, "1 superseded", "2 superseded", "3 failed", "4 superseded", "5 deployed")

	s.must(helm.uninstall())
	s.lacks("configmaps settings", "secrets key", "serviceaccounts site", "pages front")
	if left := s.list("secrets"); len(left) > 0 {
		t.Errorf("the secrets %v are left", left)
	}
}

// startServer starts a server and returns the flags of a client.
func startServer(t *testing.T) *genericclioptions.ConfigFlags {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	server, err := process.Start(ctx, process.Options{
		Binary: programs.Server(), DataDir: filepath.Join(t.TempDir(), "data"), Args: process.CheckCache,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("the server did not stop cleanly: %v", err)
		}
		if err := server.CacheError(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("server output:\n%s", server.Output())
		}
	})
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.Namespace = &server.Kubeconfig, ptr.To(namespace)
	flags.CacheDir = ptr.To(filepath.Join(t.TempDir(), "cache"))
	flags.WrapConfigFn = func(config *rest.Config) *rest.Config {
		config.QPS = -1 // no limit
		return config
	}
	return flags
}

// site reads the objects of the release.
type site struct {
	*testing.T
	client dynamic.Interface
}

func newSite(t *testing.T, flags *genericclioptions.ConfigFlags) site {
	t.Helper()
	config, err := flags.ToRESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return site{t, client}
}

func (s site) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s site) resource(plural string) dynamic.ResourceInterface {
	resource := schema.GroupVersionResource{Version: "v1", Resource: plural}
	if plural == "pages" {
		resource.Group = "site.example.com"
	}
	return s.client.Resource(resource).Namespace(namespace)
}

// get returns an object, named as "configmaps settings"; nil if there is none.
func (s site) get(object string) *unstructured.Unstructured {
	s.Helper()
	plural, name, _ := strings.Cut(object, " ")
	found, err := s.resource(plural).Get(s.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	s.must(err)
	return found
}

// has checks fields, such as "configmaps settings.data.color=red".
func (s site) has(fields ...string) {
	s.Helper()
	for _, field := range fields {
		path, want, _ := strings.Cut(field, "=")
		parts := strings.Split(path, ".")
		object := s.get(parts[0])
		if object == nil {
			s.Errorf("there is no %s", parts[0])
			continue
		}
		if got, _, _ := unstructured.NestedString(object.Object, parts[1:]...); got != want {
			s.Errorf("%s is %q, not %q", path, got, want)
		}
	}
}

func (s site) lacks(objects ...string) {
	s.Helper()
	for _, object := range objects {
		if s.get(object) != nil {
			s.Errorf("there is %s", object)
		}
	}
}

func (s site) hasHistory(helm installer, want ...string) {
	s.Helper()
	got, err := helm.history()
	s.must(err)
	if slices.Sort(got); !slices.Equal(got, want) {
		s.Errorf("the history is %q, not %q", got, want)
	}
}

func (s site) patch(plural, name, patch string) {
	s.Helper()
	_, err := s.resource(plural).Patch(s.Context(), name, types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{})
	s.must(err)
}

// names returns the names in a list of an object.
func (s site) names(plural, name, list string) []string {
	s.Helper()
	var names []string
	entries, _, _ := unstructured.NestedSlice(s.get(plural+" "+name).Object, list)
	for _, entry := range entries {
		names = append(names, fmt.Sprint(entry.(map[string]any)["name"]))
	}
	return names
}

func (s site) list(plural string) []string {
	s.Helper()
	found, err := s.resource(plural).List(s.Context(), metav1.ListOptions{})
	s.must(err)
	var names []string
	for i := range found.Items {
		names = append(names, found.Items[i].GetName())
	}
	return names
}
