package crdservertest_test

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/test/bufconn"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crd-server/crd-server/crdserver"
	"github.com/crd-server/crd-server/crdservertest"
)

var servers = flag.Int("servers", 20, "how many servers TestParallel runs at the same time")

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		mainAsProgram()
		return
	}
	flag.Parse()
	// The tests of TestParallel wait for each other.
	if err := flag.Set("test.parallel", strconv.Itoa(*servers+10)); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

var tables = schema.GroupVersionResource{Group: "shop.example.com", Version: "v1", Resource: "tables"}

func table(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "shop.example.com/v1", "kind": "Table", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"legs": int64(4)},
	}}
}

// use creates a table, and checks that it is the only one.
func use(t *testing.T, config *rest.Config, name string) {
	t.Helper()
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer transport.CloseIdleConnections()
	client, err := dynamic.NewForConfigAndClient(config, transport)
	if err != nil {
		t.Fatal(err)
	}
	resource := client.Resource(tables).Namespace(metav1.NamespaceDefault)
	if _, err := resource.Create(t.Context(), table(name), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	found, err := resource.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(found.Items) != 1 || found.Items[0].GetName() != name {
		t.Errorf("%v, %v", found, err)
	}
}

// TestParallel runs servers at the same time, a test each, and checks that nothing is left of them. It prints what they
// cost; make servers runs it with 200.
func TestParallel(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Run("first", func(t *testing.T) { // what is made once in a process
		config, _ := crdservertest.Start(t, crdservertest.WithCRDPaths("testdata"))
		use(t, config, "first")
	})
	before, began := anonymousMemory(t), time.Now()
	hosts := make([]string, *servers)
	var using sync.WaitGroup
	using.Add(*servers)
	t.Run("parallel", func(t *testing.T) {
		for n := range *servers {
			t.Run(strconv.Itoa(n), func(t *testing.T) {
				t.Parallel()
				once := sync.OnceFunc(using.Done)
				defer once() // if the test fails
				config, _ := crdservertest.Start(t, crdservertest.WithCRDPaths("testdata"))
				hosts[n] = config.Host
				use(t, config, fmt.Sprint("table", n))
				once()
				using.Wait()
				if n == 0 {
					took := time.Since(began) / time.Duration(*servers)
					t.Logf("%d servers in use: %d KB and %v each", *servers,
						(anonymousMemory(t)-before)/(*servers), took.Round(time.Millisecond))
				}
			})
		}
	})
	for n, host := range hosts {
		if u, err := url.Parse(host); err != nil || listens(u.Host) {
			t.Errorf("the port of server %d is open: %s, %v", n, host, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "*crd-server*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if err := goleak.Find(goleak.IgnoreCurrent()); err != nil {
		t.Error(err)
	}
}

// listens reports whether something listens at an address.
func listens(address string) bool {
	connection, err := net.Dial("tcp", address)
	if err == nil {
		_ = connection.Close()
	}
	return err == nil
}

// anonymousMemory returns the memory of this process that is not that of files, in KB; 0 where the system does not say.
func anonymousMemory(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(status), "\nRssAnon:")
	number, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	kilobytes, err := strconv.Atoi(number)
	if err != nil {
		t.Error(err)
	}
	return kilobytes
}

// TestKubeconfig checks that the kubeconfig is for the server, and that its file is in the test's directory.
func TestKubeconfig(t *testing.T) {
	t.Parallel()
	config, kubeconfig := crdservertest.Start(t, crdservertest.WithCRDPaths("testdata/tables.yaml"))
	same, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil || same.Host != config.Host {
		t.Fatalf("%v, %v", same, err)
	}
	use(t, same, "one")
}

// TestOptions checks that options are about the server that they are given to.
func TestOptions(t *testing.T) {
	t.Parallel()
	listener := bufconn.Listen(1 << 16)
	config, _ := crdservertest.Start(t,
		crdservertest.WithCRDs(tablesCRD(t)), crdservertest.WithBuiltinResources(crdserver.None),
		crdservertest.WithFlags("--event-ttl=5m"),
		crdservertest.WithOptions(func(o *crdserver.Options) { o.Listener = listener }),
	)
	use(t, config, "one")
	if config.Dial == nil {
		t.Error("the listener is not that of the options")
	}
}

// TestTiers checks that the tier selects the built-in resources.
func TestTiers(t *testing.T) {
	t.Parallel()
	for tier, want := range map[crdserver.Tier]map[string]int{
		"":                  {"secrets": http.StatusOK, "pods": http.StatusNotFound},
		crdserver.None:      {"secrets": http.StatusNotFound, "pods": http.StatusNotFound},
		crdserver.Essential: {"secrets": http.StatusOK, "pods": http.StatusNotFound},
		crdserver.All:       {"secrets": http.StatusOK, "pods": http.StatusOK},
	} {
		config, _ := crdservertest.Start(t, crdservertest.WithBuiltinResources(tier))
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		for resource, code := range want {
			response, err := client.Get(config.Host + "/api/v1/" + resource)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != code {
				t.Errorf("tier %q: %s: %s", tier, resource, response.Status)
			}
		}
		client.CloseIdleConnections()
	}
}

// failing is a test that fails. Fatalf ends its goroutine.
type failing struct {
	testing.TB
	message string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// failure returns how Start fails.
func failure(t *testing.T, options ...crdservertest.Option) string {
	t.Helper()
	f := &failing{TB: t}
	var running sync.WaitGroup
	running.Go(func() { crdservertest.Start(f, options...) })
	running.Wait()
	return f.message
}

// TestFailures checks that a failure is one line that says why.
func TestFailures(t *testing.T) {
	t.Parallel()
	for want, options := range map[string][]crdservertest.Option{
		"crdservertest: --crds: nowhere: no such file or directory": {crdservertest.WithCRDPaths("nowhere")},
		"crdservertest: crdserver: Flags: unknown flag: --nonsense": {crdservertest.WithFlags("--nonsense")},
		`crdservertest: WithBinary: exec: "nowhere": `:              {crdservertest.WithBinary("nowhere")},
		"crdservertest: WithOptions needs a server in this process": {
			crdservertest.WithBinary(""), crdservertest.WithOptions(func(*crdserver.Options) {}),
		},
	} {
		if got := failure(t, options...); !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
