// Command crd-server serves Kubernetes custom resources. See package internal/server for everything it does.
//
// Begin at newCommand in command.go; help.go, environment.go and suggest.go are about its flags.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/server"
)

var started = time.Now()

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal drains the server. Then signals have their usual effect again, so a second one ends the process at
	// once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	options := server.NewOptions()
	options.Started, options.Out = started, stdout
	command := newCommand(options)
	command.SetArgs(args)
	command.SetOut(stdout)
	command.SetErr(stderr)
	if err := command.ExecuteContext(ctx); err != nil {
		return fail(stderr, err)
	}
	return 0
}

// serve runs the server until ctx is done.
func serve(ctx context.Context, options *server.Options) error {
	if err := options.Validate(); err != nil {
		return err
	}
	if err := options.Apply(); err != nil {
		return err
	}
	defer klog.Flush()
	return server.Run(ctx, options)
}

// fail prints each line of the error and returns the exit code.
func fail(stderr io.Writer, err error) int {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(stderr, "crd-server: %s\n", strings.TrimSuffix(line, "\n"))
	}
	return 1
}
