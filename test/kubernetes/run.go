package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/crd-server/crd-server/test/outcome"
	"github.com/crd-server/crd-server/test/process"
)

// repeats is how often a test that fails is repeated, with both servers: some tests race with themselves.
const repeats = 1

// runner runs tests, each in a process of its own.
type runner struct {
	// logs is the folder for what the tests print.
	logs string
	// env is the environment of the tests.
	env []string
	// parallel is how many tests run at once.
	parallel int
	// timeout bounds one test.
	timeout time.Duration
}

// run runs the tests of a binary whose names match, and returns them with their subtests.
func (r runner) run(ctx context.Context, b binary, match *regexp.Regexp) ([]outcome.Test, error) {
	var chosen []string
	for _, name := range b.tests {
		if match.MatchString(name) {
			chosen = append(chosen, name)
		}
	}
	results := make([][]outcome.Test, len(chosen))
	errs := make([]error, len(chosen))
	parallel := r.parallel
	if slices.Contains(serial, b.name) {
		parallel = 1
	}
	free := make(chan struct{}, parallel)
	var running sync.WaitGroup
	for i, name := range chosen {
		free <- struct{}{}
		running.Go(func() { // ends with the test
			defer func() { <-free }()
			results[i], errs[i] = r.repeated(ctx, b, name)
		})
	}
	running.Wait()
	var all []outcome.Test
	for _, tests := range results {
		all = append(all, tests...)
	}
	return all, errors.Join(append(errs, ctx.Err())...)
}

// repeated runs a test, and repeats it if it fails.
func (r runner) repeated(ctx context.Context, b binary, name string) ([]outcome.Test, error) {
	tests, err := r.runOnce(ctx, b, name, "")
	for range repeats {
		if err != nil || len(outcome.Failing(tests)) == 0 {
			break
		}
		var again []outcome.Test
		if again, err = r.runOnce(ctx, b, name, "-repeat"); err == nil {
			tests = outcome.WithRepeated(tests, again)
		}
	}
	return tests, err
}

// runOnce runs a test. If its process ends before it does, the test has failed.
func (r runner) runOnce(ctx context.Context, b binary, name, suffix string) ([]outcome.Test, error) {
	path := filepath.Join(r.logs, fileName(b.name), name+suffix+".log")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	log, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	runErr := r.start(ctx, b, name, log)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	tests, err := outcome.Read(ctx, path)
	if err != nil && !errors.Is(err, outcome.ErrUnfinished) {
		return nil, err
	}
	// A process may fail although its tests pass: it looks for goroutines that a server has left.
	if _, ended := outcome.ByName(tests)[name]; !ended {
		printed, readErr := os.ReadFile(path)
		message := fmt.Sprintf("%s\n%v", end(printed), errors.Join(runErr, readErr))
		failed := outcome.Test{Name: name, State: outcome.Failed, Message: message}
		tests = append([]outcome.Test{failed}, tests...)
	}
	return tests, nil
}

// start runs the process of a test until it ends. Tests leave files behind, and an etcd if they hang.
func (r runner) start(ctx context.Context, b binary, name string, log *os.File) error {
	// The path of a socket has to be short.
	temp, err := os.MkdirTemp("", "kt")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	// The binary ends itself before, unless it hangs.
	bounded, cancel := context.WithTimeout(ctx, r.timeout+time.Minute)
	defer cancel()
	command := exec.CommandContext(bounded, b.path, "-test.run=^"+name+"$", "-test.v=test2json", "-test.count=1",
		"-test.timeout="+r.timeout.String())
	command.Dir, command.Env = b.dir, append(slices.Clone(r.env), "TMPDIR="+temp)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = process.EndWithParent()
	command.SysProcAttr.Setpgid = true
	if err := command.Start(); err != nil {
		return err
	}
	err = command.Wait()
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // if anything is left
	return err
}

// shownBytes is how much is shown of what a process has printed that has crashed.
const shownBytes = 2000

// end returns what a process printed last; or the beginning of the panic that ended it.
func end(printed []byte) string {
	if at := bytes.LastIndex(printed, []byte("\npanic: ")); at >= 0 {
		return string(printed[at+1 : min(len(printed), at+shownBytes)])
	}
	return string(printed[max(0, len(printed)-shownBytes):])
}
