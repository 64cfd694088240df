package crdservertest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// program is the name of the server's program.
const program = "crd-server"

// startChild starts a server as a process. stop stops it and returns its error.
func (s *settings) startChild(dir string, log *testLog) (_ *ready, stop func() error, err error) {
	if len(s.changes) > 0 {
		return nil, nil, errors.New("WithOptions needs a server in this process, and WithBinary runs another one")
	}
	binary := s.binary
	if binary == "" {
		if binary, err = exec.LookPath(program); err != nil {
			return nil, nil, fmt.Errorf("WithBinary: %w", err)
		}
	}
	args, err := s.arguments(dir)
	if err != nil {
		return nil, nil, err
	}
	command := exec.Command(binary, args...)
	command.Stderr = log
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := command.Start(); err != nil {
		return nil, nil, fmt.Errorf("WithBinary: %w", err)
	}
	stop = func() error { return stopChild(command) }
	// The server prints a line when it is ready, and nothing afterwards.
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		failed := command.Wait()
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%s: %w: %s", binary, failed, log.last())
		}
		return nil, nil, err
	}
	kubeconfig := filepath.Join(dir, "data", "admin.kubeconfig")
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	config.QPS = -1 // no rate limit
	return &ready{config: config, kubeconfig: kubeconfig}, stop, nil
}

// arguments returns the arguments of the program.
func (s *settings) arguments(dir string) ([]string, error) {
	o := &s.server
	args := []string{"--in-memory", "--data-dir", filepath.Join(dir, "data"), "--secure-port", "0"}
	if o.BuiltinResources != "" {
		args = append(args, "--builtin-resources", string(o.BuiltinResources))
	}
	for _, path := range o.CRDPaths {
		args = append(args, "--crds", path)
	}
	for n, crd := range o.CRDs {
		named := *crd
		named.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		content, err := json.Marshal(&named)
		if err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %q: %w", crd.Name, err)
		}
		file, err := writeFile(dir, fmt.Sprintf("crd%d.json", n), content)
		if err != nil {
			return nil, err
		}
		args = append(args, "--crds", file)
	}
	if s.verbosity > 0 {
		args = append(args, fmt.Sprintf("--v=%d", s.verbosity))
	}
	return append(args, o.Flags...), nil
}

// stopChild asks the process to stop, and waits for it.
func stopChild(command *exec.Cmd) error {
	if err := command.Process.Signal(os.Interrupt); err != nil { // not on Windows
		_ = command.Process.Kill()
		_ = command.Wait() // says that it was killed
		return nil
	}
	if err := command.Wait(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(command.Args, " "), err)
	}
	return nil
}
