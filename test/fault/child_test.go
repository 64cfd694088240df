package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/crd-server/crd-server/test/process"
)

// task is done by a copy of the test program as a process: a client that competes with nothing but the server, or
// that leaves the processors to others.
type task struct {
	// Kind is a key of kinds.
	Kind string
	// URL and Kubeconfig are those of the server.
	URL, Kubeconfig string
	// Number is the number of clients, connections or watches; Changes is how many changes watches see.
	Number, Changes int
	// Seconds bounds the task. For drips it is the length of a body, at a byte a second.
	Seconds int
}

// kinds are the kinds of tasks. A task ends when it is done or with its context, and returns a result that is encoded
// for the test.
var kinds = map[string]func(ctx context.Context, w task) (any, error){
	"probe":        probe,
	"health":       probeHealth,
	"lists":        loadWith((*load).lists),
	"bodies":       loadWith((*load).bodies),
	"mix":          loadWith((*load).mix),
	"drips":        loadWith((*load).drips),
	"slow readers": loadWith((*load).slowReaders),
	"watches":      loadWith((*load).watches),
}

// taskVariable is the environment variable with the task.
const taskVariable = "CRD_SERVER_FAULT_TASK"

// runTask does the task until standard input ends.
func runTask(encoded string) error {
	var w task
	if err := json.Unmarshal([]byte(encoded), &w); err != nil {
		return err
	}
	do := kinds[w.Kind]
	if do == nil {
		return fmt.Errorf("no such task: %q", w.Kind)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }() // ends with the process that has started this one
	result, err := do(ctx, w)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// child is a process that does a task.
type child struct {
	command *exec.Cmd
	input   io.Closer
	output  bytes.Buffer
}

// startChild starts a process for a task with a priority as of nice(1). It ends with the test.
func startChild(t *testing.T, server *process.Server, priority int, w task) *child {
	t.Helper()
	w.URL, w.Kubeconfig = server.URL, server.Kubeconfig
	encoded, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{command: exec.Command("nice", "-n", strconv.Itoa(priority), program)}
	c.command.Env = append(os.Environ(), taskVariable+"="+string(encoded))
	c.command.Stdout, c.command.Stderr = &c.output, os.Stderr
	if c.input, err = c.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.command.Process.Kill() // it has ended, unless the test was given up
		_ = c.command.Wait()
	})
	return c
}

// end makes the process end and decodes its result.
func (c *child) end(result any) error {
	return errors.Join(c.input.Close(), c.wait(result))
}

// wait waits until the process has ended and decodes its result.
func (c *child) wait(result any) error {
	if err := c.command.Wait(); err != nil {
		return fmt.Errorf("a client has failed: %w", err)
	}
	if err := json.Unmarshal(c.output.Bytes(), result); err != nil {
		return fmt.Errorf("what a client tells: %w: %.300s", err, c.output.Bytes())
	}
	return nil
}
