package server

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/version"
	cliflag "k8s.io/component-base/cli/flag"
)

// Parse sets o from flags.
func (o *Options) Parse(args []string) error {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.SetOutput(io.Discard)
	for _, group := range o.Flags().FlagSets {
		all.AddFlagSet(group)
	}
	return all.Parse(args)
}

func TestParse(t *testing.T) {
	o := NewOptions()
	err := o.Parse(strings.Fields(`--data-dir /d --crds a.yaml --crds b,c.yaml --bind-address ::1 --secure-port 1
		--tls-cert-file c --tls-private-key-file k --tls-san x,y --tls-san z --client-ca-file ca --anonymous-auth=false
		--etcd-servers https://a:1,https://b:2 --etcd-cafile eca --etcd-certfile ec --etcd-keyfile ek --etcd-prefix p
		--etcd-compaction-interval 7m --protect-crds
		--request-timeout 5s --min-request-timeout 7 --max-request-memory 700Mi --max-requests-inflight 8
		--max-mutating-requests-inflight 9
		--http2-max-streams-per-connection 10 --cache-consistency-check-interval 13s --cache-consistency-check-views
		--shutdown-delay-duration 11s --delete-collection-workers 12 --schema-cache-size 100Mi
		--enable-garbage-collector --goaway-chance 0.01 --cors-allowed-origins //a,//b
		--strict-transport-security-directives max-age=1,preload --profiling=false --feature-gates A=true,B=false -v 4`))
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range []struct {
		flag string
		ok   bool
	}{
		{"data-dir", o.DataDir == "/d"},
		{"crds", len(o.CRDs) == 2 && o.CRDs[1] == "b,c.yaml"},
		{"bind-address", o.Serving.BindAddress.String() == "::1"},
		{"secure-port", o.Serving.SecurePort == 1},
		{"tls", o.Serving.CertFile == "c" && o.Serving.KeyFile == "k"},
		{"tls-san", strings.Join(o.Serving.SANs, " ") == "x y z"},
		{"client-ca-file", o.Authentication.ClientCAFile == "ca"},
		{"anonymous-auth", o.Authentication.Anonymous == cliflag.False},
		{"etcd", len(o.Etcd.Servers) == 2 && o.Etcd.CAFile == "eca" && o.Etcd.CertFile == "ec" && o.Etcd.KeyFile == "ek"},
		{"etcd-prefix", o.Etcd.Root() == "/p"},
		{"etcd-compaction-interval", o.Etcd.CompactionInterval == 7*time.Minute},
		{"cache-consistency-check-interval", o.Etcd.CheckInterval == 13*time.Second},
		{"cache-consistency-check-views", o.Etcd.CheckViews},
		{"request-timeout", o.Requests.Timeout == 5*time.Second},
		{"min-request-timeout", o.Requests.MinTimeout == 7},
		{"inflight", o.Requests.MaxInFlight == 8 && o.Requests.MaxMutatingInFlight == 9},
		{"http2", o.Serving.HTTP2MaxStreams == 10},
		{"shutdown-delay-duration", o.Requests.ShutdownDelay == 11*time.Second},
		{"max-request-memory", o.Requests.MaxMemory.Value() == 700<<20},
		{"schema-cache-size", o.Resources.SchemaCache.Value() == 100<<20},
		{"delete-collection-workers", o.Resources.DeleteCollectionWorkers == 12},
		{"enable-garbage-collector", o.Resources.GarbageCollection == cliflag.True},
		{"goaway-chance", o.Serving.GoawayChance == 0.01},
		{"cors", len(o.Serving.CORSOrigins) == 2},
		{"protect-crds", o.Resources.ProtectCRDs},
		{"hsts", len(o.Serving.HSTSDirectives) == 2},
		{"profiling", !o.Profiling},
		{"feature-gates", o.FeatureGates["A"] && len(o.FeatureGates) == 2},
		{"v", o.Logs.Verbosity == 4},
	} {
		if !check.ok {
			t.Errorf("--%s was not parsed: %+v", check.flag, o)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--secure-port abc":      `invalid argument "abc" for "--secure-port" flag`,
		"--bind-address here":    `invalid argument "here" for "--bind-address" flag`,
		"--request-timeout 5":    `invalid argument "5" for "--request-timeout" flag`,
		"--anonymous-auth=maybe": `invalid argument "maybe" for "--anonymous-auth" flag`,
		"--nonsense":             "unknown flag: --nonsense",
		"--feature-gates=X":      `for "--feature-gates" flag`,
	} {
		err := NewOptions().Parse(strings.Fields(args))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want %q in one line", args, err, want)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	if _, err := NewOptions().Validate(); err != nil {
		t.Fatalf("defaults are invalid: %v", err)
	}
	for args, want := range map[string]string{
		"--data-dir=":                           "--data-dir must not be empty",
		"--crds=":                               "--crds must not be empty",
		"--secure-port -1":                      "--secure-port must be between 0 and 65535, not -1",
		"--tls-cert-file a":                     "--tls-cert-file and --tls-private-key-file must be given together",
		"--tls-san a..b":                        `--tls-san: "a..b" is neither an IP address nor a DNS name`,
		"--http2-max-streams-per-connection -1": "--http2-max-streams-per-connection must not be negative, not -1",
		"--cors-allowed-origins (":              "--cors-allowed-origins: error parsing regexp: missing closing ): `(`",
		"--strict-transport-security-directives max-age": `--strict-transport-security-directives: "max-age" is none ` +
			`of max-age=SECONDS, includeSubDomains, preload`,
		"--goaway-chance 0.5": "--goaway-chance must be between 0 and 0.02, not 0.5",
		"--etcd-servers localhost:2379": `--etcd-servers: "localhost:2379" is not of the form ` +
			`http://HOST:PORT, https://HOST:PORT or unix:///PATH`,
		"--etcd-servers unix://a/b": `--etcd-servers: "unix://a/b" is not of the form ` +
			`http://HOST:PORT, https://HOST:PORT or unix:///PATH`,
		"--etcd-servers http://a:1 --etcd-certfile c": "--etcd-certfile and --etcd-keyfile must be given together",
		"--etcd-cafile c": "--etcd-cafile, --etcd-certfile and --etcd-keyfile need " +
			"--etcd-servers",
		"--etcd-compaction-interval -1s":      "--etcd-compaction-interval must not be negative, not -1s",
		"--etcd-prefix /":                     `--etcd-prefix must name something, not "/"`,
		"--request-timeout 0s":                "--request-timeout must be positive, not 0s",
		"--min-request-timeout -1":            "--min-request-timeout must not be negative, not -1",
		"--max-requests-inflight -1":          "--max-requests-inflight must not be negative, not -1",
		"--max-mutating-requests-inflight -1": "--max-mutating-requests-inflight must not be negative, not -1",
		"--shutdown-delay-duration -1s":       "--shutdown-delay-duration must not be negative, not -1s",
		"--max-request-memory=-1":             "--max-request-memory must not be negative, not -1",
		"--schema-cache-size 0":               "--schema-cache-size must be more than 0, not 0",
		"--delete-collection-workers 0":       "--delete-collection-workers must be at least 1, not 0",
		"--feature-gates Nonsense=true":       `--feature-gates: unknown feature "Nonsense"`,
		"--emulated-version new":              `--emulated-version must be of the form 1.36, not "new"`,
		"--logging-format xml":                `logging: format: Invalid value: "xml": Unsupported log format`,
		"--data-dir= --secure-port 65536 --goaway-chance -1": "--data-dir must not be empty\n--secure-port must be between " +
			"0 and 65535, not 65536\n--goaway-chance must be between 0 and 0.02, not -1",
	} {
		o := NewOptions()
		if err := o.Parse(strings.Fields(args)); err != nil {
			t.Errorf("%s: %v", args, err)
		} else if _, err := o.Validate(); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
}

// TestVersionSkew checks that kubectl can parse the version of /version and gets the version of Kubernetes.
func TestVersionSkew(t *testing.T) {
	t.Parallel()
	info := versionInfo()
	parsed, err := version.ParseSemantic(info.GitVersion)
	if err != nil {
		t.Fatalf("%s: %v", info.GitVersion, err)
	}
	if parsed.Major() != 1 || parsed.Minor() != 37 || info.Major != "1" || info.Minor != "37" ||
		parsed.PreRelease() != "" {
		t.Errorf("got %+v", info)
	}
	if !strings.HasPrefix(parsed.BuildMetadata(), "crd-server-") {
		t.Errorf("metadata %q", parsed.BuildMetadata())
	}
	if got := notMetadata.ReplaceAllString("v0.0.0-2026+dirty", "-"); got != "v0.0.0-2026-dirty" {
		t.Errorf("got %q", got)
	}
}

func TestShellQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"/data/admin.kubeconfig": "/data/admin.kubeconfig",
		"/my data/x":             "'/my data/x'",
		"/it's/x":                `'/it'\''s/x'`,
	} {
		if got := ShellQuote(in); got != want {
			t.Errorf("%s: got %s", in, got)
		}
	}
}

func TestKubeconfigCommand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ platform, file, want string }{
		{"linux", "/data/admin.kubeconfig", "export KUBECONFIG=/data/admin.kubeconfig"},
		{"darwin", "/Jo's data/a", `export KUBECONFIG='/Jo'\''s data/a'`},
		{"windows", `C:\Users\Jo's\a`, `$env:KUBECONFIG='C:\Users\Jo''s\a'`},
	} {
		if got := kubeconfigCommand(test.platform, test.file); got != test.want {
			t.Errorf("%s: got %s, want %s", test.platform, got, test.want)
		}
	}
}

func TestZPages(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(notFound), func(o *Options) {
		if err := o.Parse([]string{"--secure-port", "0", "--data-dir", o.DataDir, "--min-request-timeout",
			"77"}); err != nil {
			t.Error(err)
		}
	})
	client, url := s.as("root", "system:masters")
	for path, want := range map[string]string{"/flagz": "min-request-timeout[:= ]+77", "/statusz": "crd-server statusz"} {
		if got := do(t, client, http.MethodGet, url+path); got.code != 200 ||
			!regexp.MustCompile(want).MatchString(got.body) {
			t.Errorf("%s: %d %s", path, got.code, got.body)
		}
	}
}
