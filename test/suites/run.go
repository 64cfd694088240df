package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/crd-server/crd-server/test/outcome"
	"github.com/crd-server/crd-server/test/process"
)

// runner runs test binaries against one server.
type runner struct {
	server string
	// assets is the folder for KUBEBUILDER_ASSETS.
	assets string
	// logs is the folder for what the binaries print and report.
	logs string
	// timeout bounds one binary.
	timeout time.Duration
}

// result is what a binary did against one server.
type result struct {
	Package, Server string
	Tests           []outcome.Test
	Seconds         float64
	Memory          process.Memory // the peak
	// Failure says what went wrong besides the tests, such as a crash or the timeout; "" if nothing did.
	Failure string
	// Left is how many processes of the server it left running.
	Left int
}

// repeats is how often tests that fail are repeated. Both servers get this chance, because a few of the tests race with
// themselves.
const repeats = 2

// run runs a binary, and repeats those of its tests that fail. A test that passes then is marked as repeated.
func (r runner) run(ctx context.Context, b testBinary) (result, error) {
	done, err := r.runOnce(ctx, b, "", nil)
	if err != nil || done.Failure != "" {
		return done, err
	}
	for n := range repeats {
		failed := outcome.Failing(done.Tests)
		if len(failed) == 0 {
			break
		}
		again, err := r.runOnce(ctx, b, fmt.Sprintf("-repeat%d", n+1), only(failed))
		if err != nil {
			return result{}, err
		}
		done.Tests = outcome.WithRepeated(done.Tests, again.Tests)
	}
	return done, nil
}

// only returns the arguments that select tests of a binary.
func only(tests []outcome.Test) []string {
	var args, functions []string
	for _, t := range tests {
		if t.Spec {
			// Ginkgo matches the text after the name of the suite.
			args = append(args, "--ginkgo.focus="+regexp.QuoteMeta(t.Focus())+"$")
			continue
		}
		function, _, _ := strings.Cut(t.Name, "/")
		functions = append(functions, function)
	}
	// A selection of functions would leave out the one that runs the specs.
	if len(args) == 0 {
		args = append(args, "-test.run=^("+strings.Join(functions, "|")+")$")
	}
	return args
}

// runOnce runs a binary with further arguments. The suffix distinguishes the files that it writes.
func (r runner) runOnce(ctx context.Context, b testBinary, suffix string, args []string) (result, error) {
	stem := filepath.Join(r.logs, fileName(b.name)+"-"+r.server+suffix)
	log, err := os.Create(stem + ".log")
	if err != nil {
		return result{}, err
	}
	defer log.Close()
	report := stem + ".ginkgo.json"
	if err := os.Remove(report); err != nil && !errors.Is(err, os.ErrNotExist) {
		return result{}, err
	}
	// The binary ends itself before, unless it hangs.
	bounded, cancel := context.WithTimeout(ctx, r.timeout+time.Minute)
	defer cancel()
	command := exec.CommandContext(bounded, b.path, append(r.arguments(b, report), args...)...)
	command.Dir = b.dir
	command.Env = environment(r.assets)
	command.Stdout, command.Stderr = log, log
	done, runErr := r.measured(command)
	if err := ctx.Err(); err != nil {
		return result{}, err
	}
	done.Package = b.name
	done.Tests, err = r.reported(ctx, b, stem)
	if err != nil || runErr != nil && len(outcome.Failing(done.Tests)) == 0 {
		done.Failure = fmt.Sprintf("%v; see %s", errors.Join(err, runErr), log.Name())
	}
	return done, nil
}

// measured runs a command, and measures it and the server's processes. None of these is left.
func (r runner) measured(command *exec.Cmd) (result, error) {
	start := time.Now()
	stop := watchMemory(r.assets)
	err := command.Run()
	done := result{Server: r.server, Seconds: time.Since(start).Seconds(), Memory: stop()}
	done.Left = endProcesses(r.assets)
	return done, err
}

// arguments make the binary print what test2json reads, and a Ginkgo suite write its report. The seed orders the specs,
// so both servers get them in the same order.
func (r runner) arguments(b testBinary, report string) []string {
	args := []string{"-test.v=test2json", "-test.count=1", "-test.timeout=" + r.timeout.String()}
	if b.ginkgo {
		args = append(args, "--ginkgo.json-report="+report, "--ginkgo.seed=1", "--ginkgo.timeout="+r.timeout.String())
	}
	return args
}

// reported reads what a binary has printed and reported.
func (r runner) reported(ctx context.Context, b testBinary, stem string) ([]outcome.Test, error) {
	functions, err := outcome.Read(ctx, stem+".log")
	if err != nil || !b.ginkgo {
		return functions, err
	}
	specs, err := ginkgoSpecs(stem + ".ginkgo.json")
	return append(specs, functions...), err
}

// environment is that of this process with the folder of programs, and without other settings of envtest.
func environment(assets string) []string {
	var kept []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, "KUBEBUILDER_") || strings.HasPrefix(name, "TEST_ASSET_") ||
			name == "USE_EXISTING_CLUSTER" || name == "KUBECONFIG" {
			continue
		}
		kept = append(kept, variable)
	}
	return append(kept, "KUBEBUILDER_ASSETS="+assets)
}
