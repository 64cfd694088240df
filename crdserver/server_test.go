package crdserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/test/bufconn"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crd-server/crd-server/crdserver"
)

var tables = schema.GroupVersionResource{Group: "shop.example.com", Version: "v1", Resource: "tables"}

// tablesCRD returns the CRD of tables.
func tablesCRD() *apiextensionsv1.CustomResourceDefinition {
	keep := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "tables.shop.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: tables.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: tables.Resource, Kind: "Table"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: tables.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &keep,
				}},
			}},
		},
	}
}

func table(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(tables.GroupVersion().WithKind("Table"))
	u.SetName(name)
	return u
}

// run runs a server until the end of the test, and waits until it is ready.
func run(t *testing.T, options crdserver.Options) *crdserver.Server {
	t.Helper()
	s := crdserver.New(options)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	select {
	case <-s.Ready():
	case err := <-ended:
		ended <- err
		t.Fatal("the server has ended")
	}
	return s
}

// client returns the client of tables in the namespace default.
func client(t *testing.T, config *rest.Config) dynamic.ResourceInterface {
	t.Helper()
	c, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c.Resource(tables).Namespace(metav1.NamespaceDefault)
}

// TestListeners checks that clients reach a server by each sort of listener.
func TestListeners(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "socket") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for name, listener := range map[string]net.Listener{
		"none": nil, "port": port, "socket": socket, "memory": bufconn.Listen(1 << 16),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := run(t, crdserver.Options{Listener: listener, CRDs: []*apiextensionsv1.CustomResourceDefinition{tablesCRD()}})
			c := client(t, s.Config())
			created, err := c.Create(t.Context(), table("one"), metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			watch, err := c.Watch(t.Context(), metav1.ListOptions{ResourceVersion: created.GetResourceVersion()})
			if err != nil {
				t.Fatal(err)
			}
			defer watch.Stop()
			if err := c.Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if event := <-watch.ResultChan(); event.Type != "DELETED" {
				t.Errorf("got %v", event)
			}
		})
	}
}

// TestKubeconfig checks that the kubeconfig is that of Config, and the one in the data directory.
func TestKubeconfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	options := crdserver.Options{DataDir: dir, CRDs: []*apiextensionsv1.CustomResourceDefinition{tablesCRD()}}
	t.Run("first", func(t *testing.T) {
		s := run(t, options)
		read, err := os.ReadFile(filepath.Join(dir, "admin.kubeconfig"))
		if err != nil || string(read) != string(s.Kubeconfig()) {
			t.Errorf("%v\n%s\nKubeconfig:\n%s", err, read, s.Kubeconfig())
		}
		config, err := clientcmd.RESTConfigFromKubeConfig(s.Kubeconfig())
		if err != nil || config.Host != s.Config().Host {
			t.Fatalf("%v %v", config, err)
		}
		if _, err := client(t, config).Create(t.Context(), table("kept"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("second", func(t *testing.T) {
		s := run(t, options)
		if _, err := client(t, s.Config()).Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// TestNotReady checks what a server says before it is ready, and that it runs only once.
func TestNotReady(t *testing.T) {
	t.Parallel()
	s := crdserver.New(crdserver.Options{})
	if s.Config() != nil || s.Kubeconfig() != nil {
		t.Error("there is a configuration before Run")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Run(cancelled); err != nil {
		t.Errorf("Run: %v", err)
	}
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "only once") {
		t.Errorf("second Run: %v", err)
	}
}

// TestExtensions checks the parts that a program brings along.
func TestExtensions(t *testing.T) {
	t.Parallel()
	listener := bufconn.Listen(1 << 16)
	s := run(t, crdserver.Options{
		Listener: listener,
		CRDs:     []*apiextensionsv1.CustomResourceDefinition{tablesCRD()},
		Authenticator: authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
			name := req.Header.Get("X-Name")
			return &authenticator.Response{User: &user.DefaultInfo{Name: name}}, name != "", nil
		}),
		Authorizer: authorizer.AuthorizerFunc(
			func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
				switch {
				case a.GetUser().GetName() == "ann":
					return authorizer.DecisionAllow, "", nil
				case a.GetUser().GetName() == "bob" && a.GetVerb() == "delete":
					return authorizer.DecisionDeny, "bob deletes nothing", nil
				}
				return authorizer.DecisionNoOpinion, "", nil
			}),
		Admission: []admission.Interface{marks{}},
		Handlers: map[string]http.Handler{"/hooks": http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			u, _ := request.UserFrom(req.Context())
			fmt.Fprint(w, req.Method, " ", req.URL.Path, " ", u.GetName(), " ", u.GetGroups())
		})},
	})
	as := func(name string) *rest.Config {
		config := s.Config()
		config.CertData, config.KeyData = nil, nil
		config.WrapTransport = func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				req.Header.Set("X-Name", name)
				return next.RoundTrip(req)
			})
		}
		return config
	}

	created, err := client(t, as("ann")).Create(t.Context(), table("one"), metav1.CreateOptions{})
	if err != nil || created.GetLabels()["by"] != "ann" {
		t.Errorf("%v, %v", created, err)
	}
	_, err = client(t, as("ann")).Create(t.Context(), table("forbidden"), metav1.CreateOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "no such name") {
		t.Errorf("refused by admission: %v", err)
	}
	err = client(t, as("bob")).Delete(t.Context(), "one", metav1.DeleteOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "bob deletes nothing") {
		t.Errorf("refused by the authorizer: %v", err)
	}
	if _, err = client(t, as("cid")).Get(t.Context(), "one", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("refused by roles: %v", err)
	}
	if _, err = client(t, as("")).Get(t.Context(), "one", metav1.GetOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("a stranger: %v", err)
	}
	for path, want := range map[string]string{
		"/hooks":     "POST /hooks ann [system:authenticated]",
		"/hooks/a/b": "POST /hooks/a/b ann [system:authenticated]",
		"/hooksome":  "404",
	} {
		if got := post(t, as("ann"), path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := post(t, as("cid"), "/hooks"); got != "403" {
		t.Errorf("/hooks without the right to it: %q", got)
	}
}

// post returns the body of the response to an empty request, or the code if it is not 200.
func post(t *testing.T, config *rest.Config, path string) string {
	t.Helper()
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, config.Host+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Sprint(response.StatusCode)
	}
	return string(body)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// marks is an admission plugin that labels tables with their creator, and refuses one name.
type marks struct{}

func (marks) Handles(o admission.Operation) bool { return o == admission.Create }

func (marks) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource() == tables {
		object, err := meta.Accessor(a.GetObject())
		if err != nil {
			return err
		}
		object.SetLabels(map[string]string{"by": a.GetUserInfo().GetName()})
	}
	return nil
}

func (marks) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetResource() == tables && a.GetName() == "forbidden" {
		return admission.NewForbidden(a, errors.New("no such name"))
	}
	return nil
}

// TestMistakes checks that mistakes are one line each, and leave nothing behind.
func TestMistakes(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	handler := http.NotFoundHandler()
	invalid := tablesCRD()
	invalid.Spec.Names.Plural = "chairs"
	for want, options := range map[string]crdserver.Options{
		`the path "hooks" of a handler is not of the form /name`:   {Handlers: map[string]http.Handler{"hooks": handler}},
		`the path "/hooks/" of a handler is not of the form /name`: {Handlers: map[string]http.Handler{"/hooks/": handler}},
		`the path /apis/x of a handler is one of the server's own`: {Handlers: map[string]http.Handler{"/apis/x": handler}},
		`the path /readyz of a handler is one of the server's own`: {Handlers: map[string]http.Handler{"/readyz": handler}},
		`the handler of the path "/hooks" is nil`:                  {Handlers: map[string]http.Handler{"/hooks": nil}},
		`--builtin-resources must be none, essential or all`:       {BuiltinResources: "some"},
		`crdserver: EtcdServers need a DataDir`:                    {EtcdServers: []string{"http://127.0.0.1:1"}},
		`crdserver: Flags: unknown flag: --nonsense`:               {Flags: []string{"--nonsense"}},
		`crdserver: Flags: "nonsense" is not a flag`:               {Flags: []string{"nonsense"}},
		`crdserver: Flags: --data-dir is the field DataDir`:        {Flags: []string{"--data-dir=x"}},
		`crdserver: Flags: --v concerns the whole process`:         {Flags: []string{"--v=4"}},
		`crdserver: Flags: --feature-gates concerns the whole`:     {Flags: []string{"--feature-gates=AllBeta=true"}},
		`--event-ttl must be at least 1s`:                          {Flags: []string{"--event-ttl=1ms"}},
		`--crds: nowhere: no such file or directory`:               {CRDPaths: []string{"nowhere"}},
		`CustomResourceDefinition "": metadata.name is missing`:    {CRDs: []*apiextensionsv1.CustomResourceDefinition{{}}},
		`tables.shop.example.com is already there as an object`: {
			CRDs: []*apiextensionsv1.CustomResourceDefinition{tablesCRD(), tablesCRD()},
		},
		`"tables.shop.example.com" is invalid: metadata.name: Inva`: {
			CRDs: []*apiextensionsv1.CustomResourceDefinition{invalid},
		},
	} {
		s := crdserver.New(options)
		err := s.Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
