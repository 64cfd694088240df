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

// task is what this program does as a process of its own, beside the test that has started it: a client that competes with nobody but
// the server, or one that leaves the processors to others.
type task struct {
	// Kind is a key of kinds.
	Kind string
	// URL and Kubeconfig are those of the server.
	URL, Kubeconfig string
	// Number is how many clients, connections or watches there are; Changes how many changes watches see.
	Number, Changes int
	// Seconds is how long it goes on, if it ends by itself; of bodies that drip, how long they are, at a byte a second.
	Seconds int
}

// kinds are what there is to do. A task ends by itself, or when its context does, and returns what is encoded for the test.
var kinds = map[string]func(ctx context.Context, w task) (any, error){
	"probe":        probe,
	"lists":        loadWith((*load).lists),
	"bodies":       loadWith((*load).bodies),
	"drips":        loadWith((*load).drips),
	"slow readers": loadWith((*load).slowReaders),
	"watches":      loadWith((*load).watches),
}

// taskVariable has the task of a process that is not the test.
const taskVariable = "CRD_SERVER_FAULT_TASK"

// runTask does the task, until what it reads from ends.
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

// startChild starts a process for a task. Its priority is as of nice(1). It ends with the test.
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

// end tells the process to end and decodes its result.
func (c *child) end(result any) error {
	return errors.Join(c.input.Close(), c.wait(result))
}

// wait waits until the process has ended by itself, and decodes its result.
func (c *child) wait(result any) error {
	if err := c.command.Wait(); err != nil {
		return fmt.Errorf("a client has failed: %w", err)
	}
	if err := json.Unmarshal(c.output.Bytes(), result); err != nil {
		return fmt.Errorf("what a client tells: %w: %.300s", err, c.output.Bytes())
	}
	return nil
}
