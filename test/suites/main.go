package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"github.com/crd-server/crd-server/test/outcome"
	"github.com/crd-server/crd-server/test/programs"
)

// options are set by flags.
type options struct {
	suite, server string
	timeout       time.Duration
	build         string
}

func main() {
	var o options
	flag.StringVar(&o.suite, "suite", "", "only packages whose name matches this regular expression, such as kro")
	flag.StringVar(&o.server, "server", "", "only this server; the last results of the other one are compared")
	flag.DurationVar(&o.timeout, "timeout", 30*time.Minute, "bound of one test binary")
	flag.Parse()
	o.build = filepath.Join(programs.Root(), "build", "suites")

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
		os.Exit(1)
	}
}

// run prepares and runs the selected packages, and prints the report.
func run(ctx context.Context, o options) error {
	binaries, err := prepare(ctx, o)
	if err != nil {
		return err
	}
	kept := store{dir: filepath.Join(o.build, "results")}
	if err := os.MkdirAll(kept.dir, 0o755); err != nil {
		return err
	}
	runners, err := newRunners(ctx, o, kept.dir)
	if err != nil {
		return err
	}
	for _, b := range binaries {
		for _, r := range runners {
			done, err := r.run(ctx, b)
			if err != nil {
				return fmt.Errorf("%s with %s: %w", b.name, r.server, err)
			}
			ran, pass := outcome.Count(done.Tests)
			fmt.Printf("%s with %s: %d of %d tests passed in %.1fs\n", b.name, r.server, pass, ran, done.Seconds)
			if err := kept.save(done); err != nil {
				return err
			}
		}
	}
	return report(o, kept, binaries)
}

// prepare compiles the packages that match.
func prepare(ctx context.Context, o options) ([]testBinary, error) {
	match, err := regexp.Compile(o.suite)
	if err != nil {
		return nil, fmt.Errorf("flag -suite: %w", err)
	}
	start := time.Now()
	var binaries []testBinary
	for _, s := range suites {
		var dir string
		for _, p := range s.packages {
			if !match.MatchString(s.qualified(p)) {
				continue
			}
			if dir == "" {
				if dir, err = s.prepare(ctx, o.build); err != nil {
					return nil, fmt.Errorf("prepare %s: %w", s.name, err)
				}
			}
			b, err := compile(ctx, o.build, dir, s, p)
			if err != nil {
				return nil, err
			}
			binaries = append(binaries, b)
		}
	}
	if len(binaries) == 0 {
		return nil, fmt.Errorf("flag -suite: no package matches %q", o.suite)
	}
	fmt.Printf("%d packages compiled in %s\n", len(binaries), time.Since(start).Round(time.Second))
	return binaries, nil
}

// newRunners makes the runners of the selected servers.
func newRunners(ctx context.Context, o options, logs string) ([]runner, error) {
	var runners []runner
	for _, s := range servers {
		if o.server != "" && o.server != s.name {
			continue
		}
		assets, err := s.makeAssets(ctx, o.build)
		if err != nil {
			return nil, err
		}
		runners = append(runners, runner{server: s.name, assets: assets, logs: logs, timeout: o.timeout})
	}
	if len(runners) == 0 {
		return nil, fmt.Errorf("flag -server: %q is neither %s nor %s", o.server, kubeAPIServer, crdServer)
	}
	return runners, nil
}

// report prints the table and the findings, and writes them to report.md. Results of an earlier run stand in for those
// of a server that was not selected.
func report(o options, kept store, binaries []testBinary) error {
	var comparisons []comparison
	for _, b := range binaries {
		baseline, err := kept.load(b.name, kubeAPIServer)
		if err != nil {
			return err
		}
		other, err := kept.load(b.name, crdServer)
		if err != nil {
			return err
		}
		comparisons = append(comparisons, comparison{name: b.name, baseline: baseline, other: other})
	}
	text, failures := findings(comparisons)
	all := table(comparisons) + "\n" + text
	fmt.Print("\n" + all)
	if err := os.WriteFile(filepath.Join(o.build, "report.md"), []byte(all), 0o644); err != nil {
		return err
	}
	if failures > 0 {
		return fmt.Errorf("%d failures", failures)
	}
	return nil
}
