package crdservertest_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/crd-server/crd-server/crdserver"
	"github.com/crd-server/crd-server/crdservertest"
	"github.com/crd-server/crd-server/internal/server"
)

// asProgram makes the test binary run as the program crd-server.
const asProgram = "CRDSERVERTEST_AS_PROGRAM"

// runAsProgram serves with the flags of the process until it is interrupted.
func runAsProgram() error {
	options := server.NewOptions()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, group := range options.Flags().FlagSets {
		flags.AddFlagSet(group)
	}
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	valid, err := options.Validate()
	if err != nil {
		return err
	}
	if err := valid.Apply(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return server.Run(ctx, valid)
}

// mainAsProgram is the main function of the program.
func mainAsProgram() {
	if err := runAsProgram(); err != nil {
		fmt.Fprintln(os.Stderr, "crd-server:", err)
		os.Exit(1)
	}
}

// tablesCRD is that of testdata.
func tablesCRD(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	content, err := os.ReadFile("testdata/tables.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(content, crd); err != nil {
		t.Fatal(err)
	}
	return crd
}

// TestBinary checks a server that is a process of its own: its options, that it stops, and how it fails.
func TestBinary(t *testing.T) {
	t.Setenv(asProgram, "1")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := ""
	t.Run("serving", func(t *testing.T) {
		config, _ := crdservertest.Start(t, crdservertest.WithBinary(program), crdservertest.WithCRDs(tablesCRD(t)),
			crdservertest.WithBuiltinResources(crdserver.None), crdservertest.WithFlags("--event-ttl=5m"))
		use(t, config, "one")
		host = config.Host
	})
	if u, err := url.Parse(host); err != nil || listens(u.Host) {
		t.Errorf("the port of the process is open: %s, %v", host, err)
	}
	got := failure(t, crdservertest.WithBinary(program), crdservertest.WithCRDPaths("nowhere"))
	want := "exit status 1: crd-server: --crds: nowhere: no such file or directory"
	if !strings.HasSuffix(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
