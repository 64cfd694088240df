package aggregator

import (
	"bufio"
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crd-server/crd-server/test/programs"
)

// kubectl runs kubectl as a user.
type kubectl struct {
	*installation
	kubeconfig, home string
}

func (i *installation) kubectl(kubeconfig string) kubectl {
	return kubectl{installation: i, kubeconfig: kubeconfig, home: i.TempDir()}
}

// command returns a command that is not started.
func (k kubectl) command(ctx context.Context, args ...string) *exec.Cmd {
	program, err := programs.Kubectl()
	if err != nil {
		k.Fatal(err)
	}
	command := exec.CommandContext(ctx, program, args...)
	command.Env = []string{"KUBECONFIG=" + k.kubeconfig, "HOME=" + k.home}
	return command
}

// run runs a command that must succeed, and returns what it prints.
func (k kubectl) run(args ...string) string {
	k.Helper()
	printed, err := k.command(k.Context(), args...).CombinedOutput()
	if err != nil {
		k.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, printed)
	}
	return string(printed)
}

// prints runs a command that must succeed and print the texts.
func (k kubectl) prints(command string, texts ...string) {
	k.Helper()
	printed := k.run(strings.Fields(command)...)
	for _, text := range texts {
		if !strings.Contains(printed, text) {
			k.Errorf("kubectl %s does not say %q:\n%s", command, text, printed)
		}
	}
}

// fails runs a command that must fail with an error that contains text.
func (k kubectl) fails(command, text string) {
	k.Helper()
	printed, err := k.command(k.Context(), strings.Fields(command)...).CombinedOutput()
	if err == nil || !strings.Contains(string(printed), text) {
		k.Errorf("kubectl %s does not fail with %q: %v\n%s", command, text, err, printed)
	}
}

// TestKubectl uses custom resources with kubectl, through the aggregator. It applies the CRDs to crd-server directly:
// the host cluster has CRDs of its own.
func TestKubectl(t *testing.T) {
	t.Parallel()
	i := install(t)
	i.kubectl(i.server.Kubeconfig).run("apply", "-f", samples)
	i.available("v1.stable.example.com", "v1.data.example.com", "v1.web.example.com", "v1beta1.web.example.com")
	i.eventuallyDiscovered("stable.example.com", "data.example.com", "web.example.com")
	editor := i.kubectl(i.kubeconfig("jane", "editors"))

	editor.prints("api-resources --api-group=stable.example.com -o wide", "crontabs", "ct", "stable.example.com/v1",
		"true", "CronTab", "watch")
	editor.prints("apply -f "+filepath.Join(samples, "objects", "crontabs.yaml"),
		"crontab.stable.example.com/report created")
	editor.prints("apply -f "+filepath.Join(samples, "objects", "crontabs.yaml"),
		"crontab.stable.example.com/report unchanged")
	editor.prints("apply --server-side --field-manager=me --force-conflicts -f "+filepath.Join(samples, "objects",
		"crontabs.yaml"),
		"crontab.stable.example.com/report serverside-applied")
	editor.prints("get crontabs", "NAME", "SCHEDULE", "REPLICAS", "report")
	editor.prints("get ct report -o jsonpath={.spec.replicas}", "2")

	watching, cancel := context.WithCancel(t.Context())
	watch := editor.command(watching, "get", "ct", "report", "--watch", "-o", `jsonpath={.spec.replicas}{"\n"}`)
	output, err := watch.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = watch.Wait() // it was killed
	}()
	lines := bufio.NewScanner(output)
	if !lines.Scan() || lines.Text() != "2" {
		t.Fatalf("the watch begins with %q: %v", lines.Text(), lines.Err())
	}
	editor.prints("scale ct report --replicas=5", "scaled")
	if !lines.Scan() || lines.Text() != "5" {
		t.Fatalf("after scaling, the watch says %q: %v", lines.Text(), lines.Err())
	}
	editor.prints("patch ct report --subresource=status --type=merge -p {\"status\":{\"replicas\":4}}", "patched")
	editor.prints("get ct report -o jsonpath={.spec.replicas}-{.status.replicas}", "5-4")

	i.eventuallyExplained("stable.example.com/v1", "data.example.com/v1")
	// kubectl sends the time of its cached index, in seconds, so an earlier command in the same second may have
	// cached an index without ours.
	editor.prints("explain ct.spec.cronSpec --cache-dir="+t.TempDir(), "CronTab",
		"When the job runs, in cron's notation", "<string>")

	reader := i.kubectl(i.kubeconfig("joe", "readers"))
	reader.prints("get ct", "report")
	reader.fails("scale ct report --replicas=1",
		`"joe" cannot patch resource "crontabs/scale" in API group "stable.example.com" in the namespace "default"`)
	reader.fails("delete ct report", `"joe" cannot delete resource "crontabs"`)
	editor.prints("delete ct --all", "deleted")
}
