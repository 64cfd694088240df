package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/crd-server/crd-server/test/etcd/embedded"
)

// packages are the test packages of the suite, as folders below upstream's test. The package with the longest tests
// comes first, so that they do not run alone at the end.
var packages = []string{"integration/conversion", "integration"}

// options are set by flags.
type options struct {
	server, build, run string
	parallel           int
	timeout            time.Duration
	verbose            bool
}

func main() {
	var o options
	flag.StringVar(&o.server, "server", "../../bin/crd-server", "the crd-server to test")
	flag.StringVar(&o.build, "build", "../../build/conformance", "folder for the copy of the suite and its binaries")
	flag.StringVar(&o.run, "run", "", "only tests whose name matches this regular expression")
	// Most tests wait most of the time.
	flag.IntVar(&o.parallel, "parallel", 4*runtime.NumCPU(), "tests at a time")
	flag.DurationVar(&o.timeout, "timeout", 3*time.Minute, "bound of one test")
	flag.BoolVar(&o.verbose, "v", false, "print the output of tests that pass, and each test as it ends")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	passed, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
	}
	if err != nil || !passed {
		os.Exit(1)
	}
}

// run prepares and runs the suite; passed says whether every test passed.
func run(ctx context.Context, o options) (passed bool, err error) {
	match, err := regexp.Compile(o.run)
	if err != nil {
		return false, fmt.Errorf("flag -run: %w", err)
	}
	if o.server, err = filepath.Abs(o.server); err != nil {
		return false, err
	}
	if _, err := os.Stat(o.server); err != nil {
		return false, fmt.Errorf("no server to test (make build): %w", err)
	}
	if o.build, err = filepath.Abs(o.build); err != nil {
		return false, err
	}
	folder, err := os.Getwd()
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(o.build, 0o755); err != nil {
		return false, err
	}

	start := time.Now()
	compiled, err := Suite{Folder: folder, Build: o.build}.Prepare(ctx, packages)
	if err != nil {
		return false, err
	}
	fmt.Printf("suite compiled in %s\n", time.Since(start).Round(time.Second))

	dir, err := os.MkdirTemp("", "conformance-etcd-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	etcd, err := embedded.Start(ctx, dir)
	if err != nil {
		return false, err
	}
	defer etcd.Close()

	start = time.Now()
	var results []Result
	runner := Runner{Server: o.server, EtcdURL: etcd.URL, Parallel: o.parallel, Timeout: o.timeout}
	runner.Run(ctx, compiled, match.MatchString, func(result Result) {
		results = append(results, result)
		o.print(result)
	})
	return summarize(results, time.Since(start)), ctx.Err()
}

// print prints a result: failures always, others if asked to.
func (o options) print(r Result) {
	switch {
	case !r.Passed:
		fmt.Printf("--- FAIL %s %s (%.1fs)\n%s\n", r.Package, r.Test, r.Took.Seconds(), r.Output)
	case o.verbose:
		fmt.Printf("--- ok   %s %s (%.1fs)\n%s", r.Package, r.Test, r.Took.Seconds(), r.Output)
	}
}

// summarize prints how many tests passed, which failed, and the slowest tests, which bound the time of the suite.
func summarize(results []Result, took time.Duration) (passed bool) {
	var failed []string
	for _, r := range results {
		if !r.Passed {
			failed = append(failed, r.Package+" "+r.Test)
		}
	}
	slices.Sort(failed)
	slices.SortFunc(results, func(a, b Result) int { return int(b.Took - a.Took) })
	fmt.Printf("slowest:")
	for _, r := range results[:min(5, len(results))] {
		fmt.Printf(" %s %.1fs", r.Test, r.Took.Seconds())
	}
	fmt.Printf("\nconformance: %d passed, %d failed in %s\n", len(results)-len(failed), len(failed),
		took.Round(100*time.Millisecond))
	if len(failed) > 0 {
		fmt.Printf("failed:\n  %s\n", strings.Join(failed, "\n  "))
	}
	return len(failed) == 0 && len(results) > 0
}
