package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

// Result is the result of one test.
type Result struct {
	Package, Test string
	Passed        bool
	Took          time.Duration
	Output        []byte
}

// Runner runs each test in its own process: tests change feature gates of their process, and run in parallel.
type Runner struct {
	// Server is the path of the crd-server to test.
	Server string
	// EtcdURL is the etcd its data goes to.
	EtcdURL string
	// Parallel is how many tests run at once.
	Parallel int
	// Timeout bounds one test.
	Timeout time.Duration
}

// task is one test to run.
type task struct {
	of   *Package
	test string
}

// Run runs all tests of the packages that match, and calls done with each result, from one goroutine at a time.
func (r Runner) Run(ctx context.Context, packages []*Package, match func(test string) bool, done func(Result)) {
	tasks := make(chan task)
	var workers sync.WaitGroup
	var reporting sync.Mutex // guards done
	for range r.Parallel {
		workers.Go(func() { // ends when tasks is closed
			for t := range tasks {
				result := r.runOne(ctx, t)
				reporting.Lock()
				done(result)
				reporting.Unlock()
			}
		})
	}
	for _, p := range packages {
		for _, test := range p.Tests {
			if match(test) {
				tasks <- task{of: p, test: test}
			}
		}
	}
	close(tasks)
	workers.Wait()
}

func (r Runner) runOne(ctx context.Context, t task) Result {
	command := exec.CommandContext(ctx, t.of.Binary,
		"-test.run", "^"+t.test+"$",
		"-test.skip", leftOut.String(),
		"-test.count", "1",
		"-test.timeout", r.Timeout.String(),
		"-test.v", strconv.FormatBool(os.Getenv("CRD_SERVER_LOGS") != ""))
	command.Dir = t.of.Dir
	command.Env = append(os.Environ(), "CRD_SERVER="+r.Server, "KUBE_INTEGRATION_ETCD_URL="+r.EtcdURL)
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	start := time.Now()
	err := command.Run()
	return Result{Package: t.of.Name, Test: t.test, Passed: err == nil, Took: time.Since(start), Output: output.Bytes()}
}
