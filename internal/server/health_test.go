package server

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/healthz"
)

func TestHealthVerbose(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(notFound), nil)
	client, url := s.as("")
	want := `[+]ping ok
[+]log ok
[+]etcd ok
[+]etcd-readiness ok
[+]informer-sync ok
[+]shutdown ok
readyz check passed
`
	if got := do(t, client, "GET", url+"/readyz?verbose"); got.body != want {
		t.Errorf("got %s", got.body)
	}
	got := do(t, client, "GET", url+"/livez?verbose&exclude=etcd&exclude=nothing")
	for _, line := range []string{"[+]etcd excluded: ok\n",
		`warn: some health checks cannot be excluded: no matches for "nothing"`} {
		if !strings.Contains(got.body, line) {
			t.Errorf("%q is not in %s", line, got.body)
		}
	}
}

// TestHooks checks the hooks of a server with resources, each by its path too, and that an unknown one is not found.
func TestHooks(t *testing.T) {
	t.Parallel()
	s := startWhole(t)
	client, url := s.as("")
	root := s.root()
	verbose := do(t, client, "GET", url+"/livez?verbose").body
	for _, name := range []string{"start-apiserver-admission-initializer", "crd-informer-synced", "rbac/bootstrap-roles",
		"start-system-namespaces-controller", "start-cluster-authentication-info-controller",
		"apiservice-status-remote-available-controller", "kube-apiserver-autoregistration"} {
		if !strings.Contains(verbose, "[+]poststarthook/"+name+" ok\n") {
			t.Errorf("%s is not in %s", name, verbose)
		}
		for _, path := range []string{"/healthz", "/livez", "/readyz"} {
			if got := root.must(http.StatusOK, http.MethodGet, path+"/poststarthook/"+name, ""); got.body != "ok" {
				t.Errorf("%s/%s: %s", path, name, got.body)
			}
		}
	}
	if strings.Contains(verbose, "bootstrap-controller") {
		t.Errorf("a server without Services has %s", verbose)
	}
	root.must(http.StatusNotFound, http.MethodGet, "/livez/poststarthook/nothing", "")
}

func TestUnreadyUntilSynced(t *testing.T) {
	t.Parallel()
	entered := make(chan struct{})
	s := launch(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/apis/entered/v1" {
			close(entered)
			<-req.Context().Done()
			return
		}
		notFound(w, req)
	}), nil)
	defer func() {
		select {
		case <-s.synced:
		default:
			close(s.synced)
		}
	}()
	// The server writes the kubeconfig and serves the port before the resources are synced.
	client, url := s.asSoonAsServed()
	if got := do(t, client, "GET", url+"/readyz"); got.code != 500 ||
		!strings.Contains(got.body, "[-]informer-sync failed") {
		t.Errorf("got %d %s", got.code, got.body)
	}
	got := do(t, client, "GET", url+"/apis/example.com/v1/crontabs")
	if got.code != 503 || got.header.Get("Retry-After") == "" || got.status(t).Code != 503 {
		t.Errorf("got %d %v %s", got.code, got.header, got.body)
	}
	close(s.synced)
	s.waitReady()
	if got := do(t, client, "GET", url+"/readyz"); got.code != 200 {
		t.Errorf("got %d %s", got.code, got.body)
	}
	if got := do(t, client, "GET", url+"/apis/example.com/v1/crontabs"); got.code != 404 {
		t.Errorf("got %d %s", got.code, got.body)
	}
}

// asSoonAsServed returns the administrator's client once the server listens, ready or not.
func (s *testServer) asSoonAsServed() (*http.Client, string) {
	s.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-s.ended:
			s.t.Fatalf("server ended: %v", s.err)
		case <-tick.C:
			if fileExists(s.options.DataDir + "/admin.kubeconfig") {
				return s.as("root", "system:masters")
			}
		}
	}
}

// TestDrain checks that a server that stops becomes unready, ends watches, and finishes requests in flight.
func TestDrain(t *testing.T) {
	t.Parallel()
	inFlight, finish := make(chan struct{}), make(chan struct{})
	watching := make(chan struct{})
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if info, _ := request.RequestInfoFrom(req.Context()); info.Verb == "watch" {
			fmt.Fprintln(w, "event")
			w.(http.Flusher).Flush()
			close(watching)
			<-request.ServerShutdownSignalFrom(req.Context()).ShuttingDown()
			return
		}
		close(inFlight)
		<-finish
		fmt.Fprint(w, "finished")
	}), func(o *Options) {
		o.Requests.ShutdownDelay = 200 * time.Millisecond
	})
	client, url := s.as("root", "system:masters")
	answers := make(chan string, 2)
	get := func(path string) {
		response, err := client.Get(url + path)
		if err != nil {
			answers <- err.Error()
			return
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		answers <- fmt.Sprintf("%s %v", body, err)
	}
	go get("/apis/example.com/v1/crontabs")
	<-inFlight
	go get("/apis/example.com/v1/crontabs?watch=true")
	<-watching

	s.stop()
	unready := false
	for !unready { // during the delay the server is unready, but serves requests
		got := do(t, client, "GET", url+"/readyz")
		unready = got.code == 500 && strings.Contains(got.body, "[-]shutdown failed")
	}
	if got := <-answers; got != "event\n <nil>" {
		t.Errorf("watch ended with %q", got)
	}
	select {
	case <-s.ended:
		t.Error("server ended before the request in flight")
	default:
	}
	close(finish)
	if got := <-answers; got != "finished <nil>" {
		t.Errorf("request in flight ended with %q", got)
	}
	<-s.ended
}

// TestNamesOfChecks compares the checks of each path, for a server with all that adds some.
func TestNamesOfChecks(t *testing.T) {
	t.Parallel()
	h := newHealth(health{
		hooks: []*hook{{name: "poststarthook/a"}}, loopback: true,
		encryption: []healthz.HealthChecker{healthz.NamedCheck("kms-providers", nil)},
	}, false)
	for path, test := range map[string]struct {
		checks []healthz.HealthChecker
		want   string
	}{
		"/livez":   {h.live(), "ping log loopback-serving-certificate etcd poststarthook/a"},
		"/healthz": {h.healthy(), "ping log loopback-serving-certificate etcd kms-providers poststarthook/a"},
		"/readyz":  {h.ready(), "ping log etcd etcd-readiness kms-providers informer-sync poststarthook/a shutdown"},
	} {
		var names []string
		for _, check := range test.checks {
			names = append(names, check.Name())
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%s: %s", path, got)
		}
	}
}
