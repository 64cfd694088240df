// Command crd-server serves Kubernetes custom resources. See package internal/server for everything it does.
//
// Begin at newCommand in command.go; help.go, environment.go and suggest.go are about its flags. A link to the program
// that is named etcd or kube-apiserver makes it act as that program; see kubeapiserver.go, and envtest.go, which makes
// the links.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/server"
	"github.com/crd-server/crd-server/internal/server/etcd"
)

var started = time.Now()

func main() {
	name := programName(os.Args[0])
	if name == "etcd" {
		etcd.Main(os.Args) // handles signals
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal drains the server. Then signals have their usual effect again, so a second one ends the process at
	// once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, name, os.Args[1:], os.Stdout, os.Stderr))
}

// programName returns the name by which the program was called.
func programName(path string) string {
	return strings.TrimSuffix(filepath.Base(path), ".exe")
}

// run acts as the named program and returns the exit code.
func run(ctx context.Context, name string, args []string, stdout, stderr io.Writer) int {
	options := server.NewOptions()
	options.Started, options.Out = started, stdout
	command := newCommand
	if name == kubeAPIServer {
		command = newKubeAPIServer
	}
	return execute(ctx, command(options), args, stdout, stderr)
}

func execute(ctx context.Context, command *cobra.Command, args []string, stdout, stderr io.Writer) int {
	command.SetArgs(args)
	command.SetOut(stdout)
	command.SetErr(stderr)
	if err := command.ExecuteContext(ctx); err != nil {
		return fail(command.Name(), stderr, err)
	}
	return 0
}

// serve runs the server until ctx is done.
func serve(ctx context.Context, options *server.ValidOptions) error {
	if err := options.Apply(); err != nil {
		return err
	}
	defer klog.Flush()
	return server.Run(ctx, options)
}

// fail prints each line of the error and returns the exit code.
func fail(name string, stderr io.Writer, err error) int {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(stderr, "%s: %s\n", name, strings.TrimSuffix(line, "\n"))
	}
	return 1
}
