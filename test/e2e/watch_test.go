package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/programs"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestKubectlWatch checks the output of kubectl get -w while objects change.
func TestKubectlWatch(t *testing.T) {
	t.Parallel()
	kubectl, err := programs.Kubectl()
	if err != nil {
		t.Fatal(err)
	}
	server := run(t)
	installSamples(t, server)
	crontabs := dynamicClient(t, server).Resource(resources["CronTab"]).Namespace("default")

	printed := watchWith(t, kubectl, "--kubeconfig", server.Kubeconfig, "get", "ct", "-w", "--output-watch-events")
	printed.expect(t, "EVENT NAME SCHEDULE REPLICAS")
	printed.expect(t, "ADDED cleanup */15 * * * * 1")
	printed.expect(t, "ADDED report 0 6 * * mon 2")

	if _, err := crontabs.Patch(t.Context(), "report", types.MergePatchType, []byte(`{"spec":{"replicas":3}}`),
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	printed.expect(t, "MODIFIED report 0 6 * * mon 3")
	if err := crontabs.Delete(t.Context(), "cleanup", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	printed.expect(t, "DELETED cleanup */15 * * * * 1")
}

// watched is the output of a running command, line by line.
type watched struct{ lines <-chan string }

// watchWith starts a command and collects its lines. The command ends with the test.
func watchWith(t *testing.T, name string, args ...string) watched {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Env = append(os.Environ(), "HOME="+t.TempDir())
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = command.Stdout
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() { // ends when the command does
		defer close(lines)
		scanner := bufio.NewScanner(output)
		for scanner.Scan() {
			lines <- strings.Join(strings.Fields(scanner.Text()), " ")
		}
	}()
	t.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
	})
	return watched{lines}
}

// expect waits for the next line, and compares its beginning.
func (w watched) expect(t *testing.T, want string) {
	t.Helper()
	select {
	case line, ok := <-w.lines:
		if !ok || !strings.HasPrefix(line+" ", want+" ") {
			t.Fatalf("got %q, not %q", line, want)
		}
	case <-time.After(patience):
		t.Fatalf("no line came, waiting for %q", want)
	}
}
