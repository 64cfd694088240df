// Package gotest is the example of docs/testing.md.
package gotest

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// startServer starts a crd-server with the CRDs in a folder, and stops it when the test ends.
func startServer(t *testing.T, crds string) *rest.Config {
	t.Helper()
	binary := os.Getenv("CRD_SERVER")
	if binary == "" {
		binary = "crd-server"
	}
	data := t.TempDir()
	command := exec.Command(binary, "--data-dir", data, "--secure-port", "0", "--crds", crds)
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Kill() // nothing of a test has to be kept
		command.Wait()
	})
	// The server prints one line when it is ready, and all CRDs are served.
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil || !strings.Contains(line, "is ready") {
		t.Fatalf("%s is not ready: %q %v", binary, line, err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(data, "admin.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestCronTabDefaults(t *testing.T) {
	t.Parallel()
	client, err := dynamic.NewForConfig(startServer(t, "../../../config/samples"))
	if err != nil {
		t.Fatal(err)
	}
	resource := schema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"}
	crontabs := client.Resource(resource)
	created, err := crontabs.Namespace("default").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "stable.example.com/v1",
		"kind":       "CronTab",
		"metadata":   map[string]any{"name": "hourly"},
		"spec":       map[string]any{"cronSpec": "0 * * * *", "image": "registry.example.com/job:1"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if replicas, _, _ := unstructured.NestedInt64(created.Object, "spec", "replicas"); replicas != 1 {
		t.Errorf("the default of spec.replicas is %d", replicas)
	}
}
