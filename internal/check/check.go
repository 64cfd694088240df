// Package check finds mistakes in manifests: it starts a server of its own and tries them there.
//
// Begin at Run. read.go collects the manifests, serve.go starts the server, definitions.go applies the CRDs, objects.go
// tries all other objects, and report.go prints what the server refuses.
package check

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Run checks all manifests in the files and directories. It prints a line for each mistake and warning, and then how
// many are valid. It returns an error if there is a mistake, or if the check itself fails.
func Run(ctx context.Context, paths []string, out io.Writer) error {
	r := &report{}
	found, err := read(paths, r)
	switch {
	case err != nil:
		return err
	case found.read == 0:
		return errors.New("there are no objects to check")
	}
	err = ask(ctx, found, r)
	r.print(out)
	if err != nil {
		return err
	}
	result, err := r.result()
	if err == nil {
		_, err = fmt.Fprintln(out, result)
	}
	return err
}

// ask starts a server, asks it whether the manifests are valid, and stops it.
func ask(ctx context.Context, found *manifestSet, r *report) (err error) {
	config, stop, err := start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	c := newClient(config, r)
	if err := c.applyDefinitions(ctx, found.definitions); err != nil {
		return err
	}
	return c.tryObjects(ctx, found.objects) // the server serves the kinds of the CRDs now
}
