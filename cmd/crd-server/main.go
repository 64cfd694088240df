// Command crd-server serves Kubernetes custom resources. See package internal/server for everything it does.
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

	"golang.org/x/term"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/server"
)

var started = time.Now()

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal drains the server. Then signals have their usual effect again, so a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	options := server.NewOptions()
	options.Started, options.Out = started, stdout
	command, err := options.Parse(args)
	switch {
	case err != nil:
		return fail(stderr, err)
	case command.Help:
		command.PrintHelp(stdout, columns(stdout))
		return 0
	case command.Version:
		fmt.Fprintln(stdout, server.VersionLine())
		return 0
	}
	if err := options.Validate(); err != nil {
		return fail(stderr, err)
	}
	if err := options.Apply(); err != nil {
		return fail(stderr, err)
	}
	defer klog.Flush()
	if err := server.Run(ctx, options); err != nil {
		return fail(stderr, err)
	}
	return 0
}

// fail prints each line of the error and returns the exit code.
func fail(stderr io.Writer, err error) int {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(stderr, "crd-server: %s\n", strings.TrimSuffix(line, "\n"))
	}
	return 1
}

// columns returns the width of the terminal; 0 if out is none.
func columns(out io.Writer) int {
	file, ok := out.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}
