package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"time"

	"github.com/crd-server/crd-server/test/outcome"
	"github.com/crd-server/crd-server/test/programs"
)

// The servers, by the names that the flag -server takes.
const (
	kubeAPIServer = "kube-apiserver"
	crdServer     = "crd-server"
	inProcess     = "in-process"
)

// options are set by flags.
type options struct {
	packages, run, server string
	parallel              int
	timeout               time.Duration
	// reuse runs the binaries of the last run, and update writes results to the repository.
	reuse, update bool
	// build is the folder that everything is written to, and folder the one of the files.
	build, folder string
}

func main() {
	root := programs.Root()
	o := options{build: filepath.Join(root, "build", "kubernetes"), folder: filepath.Join(root, "test", "kubernetes")}
	flag.StringVar(&o.packages, "packages", "", "only packages whose name matches this regular expression, such as ^auth$")
	flag.StringVar(&o.run, "run", "", "only top-level tests whose name matches this regular expression")
	flag.StringVar(&o.server, "server", crdServer, "the server to test: crd-server, kube-apiserver or in-process")
	// Most tests wait most of the time.
	flag.IntVar(&o.parallel, "parallel", 2*runtime.NumCPU(), "tests at a time")
	flag.DurationVar(&o.timeout, "timeout", 5*time.Minute, "bound of one top-level test")
	flag.BoolVar(&o.reuse, "reuse", false, "run the binaries of the last run, if there are any")
	flag.BoolVar(&o.update, "update", false, "renew results.txt by kube-apiserver, or the table in the docs by crd-server")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "kubernetes:", err)
		os.Exit(1)
	}
}

// run compiles and runs the packages, one after the other, and prints the report.
func run(ctx context.Context, o options) error {
	matchPackage, err := regexp.Compile(o.packages)
	if err != nil {
		return fmt.Errorf("flag -packages: %w", err)
	}
	matchTest, err := regexp.Compile(o.run)
	if err != nil {
		return fmt.Errorf("flag -run: %w", err)
	}
	expected, err := readBaseline(filepath.Join(o.folder, "results.txt"))
	if err != nil {
		return err
	}
	excused, err := readExcuses(filepath.Join(o.folder, "excused.txt"))
	if err != nil {
		return err
	}
	if o.server == inProcess {
		excused = nil
	}
	c := compiler{root: programs.Root(), build: o.build, inProcess: o.server == inProcess}
	r, err := o.prepare(ctx, c)
	if err != nil {
		return err
	}
	var verdicts []verdict
	for _, name := range packages {
		if !matchPackage.MatchString(name) {
			continue
		}
		tests, err := o.runPackage(ctx, c, r, name, matchTest)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if o.server == kubeAPIServer && o.update {
			expected.set(name, tests)
			if err := expected.write(filepath.Join(o.folder, "results.txt")); err != nil {
				return err
			}
		}
		verdicts = append(verdicts, judge(name, tests, expected[name], excused))
	}
	if len(verdicts) == 0 {
		return fmt.Errorf("flag -packages: no package matches %q", o.packages)
	}
	return o.report(verdicts)
}

// report prints the table and the findings, and writes them to report.md.
func (o options) report(verdicts []verdict) error {
	table := table(verdicts)
	text, wrong := findings(verdicts)
	fmt.Print("\n" + table + "\n" + text)
	path := filepath.Join(o.build, "report-"+o.server+".md")
	if err := os.WriteFile(path, []byte(table+"\n"+text), 0o644); err != nil {
		return err
	}
	if o.server == crdServer && o.update {
		if o.packages != "" || o.run != "" {
			return errors.New("flag -update needs all tests")
		}
		if err := updatePage(filepath.Join(programs.Root(), "docs", "conformance.md"), table); err != nil {
			return err
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d tests are wrong", wrong)
	}
	return nil
}

// runPackage compiles and runs one package.
func (o options) runPackage(ctx context.Context, c compiler, r runner, name string, match *regexp.Regexp,
) ([]outcome.Test, error) {
	start := time.Now()
	b, err := c.compile(ctx, name, o.reuse)
	if err != nil {
		return nil, err
	}
	if err := b.list(ctx, r.env); err != nil {
		return nil, err
	}
	compiled := time.Now()
	tests, err := r.run(ctx, b, match)
	if err != nil {
		return nil, err
	}
	ran, passed := outcome.Count(tests)
	fmt.Printf("%s with %s: %d of %d tests passed; compiled in %s, run in %s\n", name, o.server, passed, ran,
		compiled.Sub(start).Round(time.Second), time.Since(compiled).Round(time.Second))
	return tests, nil
}
