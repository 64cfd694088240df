package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKubeAPIServerMistakes checks that mistakes in the flags of kube-apiserver lead to an error of one line and exit
// code 1, and that variables for flags of crd-server have no effect.
func TestKubeAPIServerMistakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, want string }{
		{"", "--etcd-servers must be specified\n"},
		{"--allow-privileged=true", "--etcd-servers must be specified\n"},
		{"--nonsense", "unknown flag: --nonsense\n"},
		{"--data-dir x", "unknown flag: --data-dir"},
		{"--insecure-port 0", "unknown flag: --insecure-port"},
		{"--audit-log-pth x", "unknown flag: --audit-log-pth; did you mean --audit-log-path?\n"},
		{"--allow-privileged=perhaps", `invalid argument "perhaps" for "--allow-privileged" flag: `},
		{"--kubelet-timeout=5", `invalid argument "5" for "--kubelet-timeout" flag: `},
		{"serve", `unexpected argument "serve": kube-apiserver takes flags only` + "\n"},
		{"--etcd-servers http://127.0.0.1:1 --cert-dir certs --enable-admission-plugins Nonsense",
			`--enable-admission-plugins: plugin "Nonsense" is unknown` + "\n"},
	} {
		t.Run(test.args, func(t *testing.T) {
			t.Parallel()
			cmd, stdout, stderr := command(t, strings.Fields(test.args)...)
			cmd.Args[0] = filepath.Join("assets", kubeAPIServer)
			cmd.Env = append(cmd.Env, "CRD_SERVER_SECURE_PORT=99999", "CRD_SERVER_ETCD_SERVERS=http://127.0.0.1:1")
			_ = cmd.Run() // the exit code is looked at
			if code := cmd.ProcessState.ExitCode(); code != 1 {
				t.Errorf("exit code %d", code)
			}
			got := stderr.String()
			if !strings.HasPrefix(got, "kube-apiserver: "+test.want) || strings.Count(got, "\n") != 1 || stdout.Len() > 0 {
				t.Errorf("got %q, %q", got, stdout)
			}
			if entries, err := os.ReadDir(cmd.Dir); err != nil || len(entries) > 0 {
				t.Errorf("wrote %v %v", entries, err)
			}
		})
	}
}

// TestActsByName checks which program the name selects.
func TestActsByName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, args, want string }{
		{"crd-server", "--version", "crd-server "},
		{"another", "--version", "crd-server "},
		{"kube-apiserver", "--version", "Kubernetes v1."},
		{"kube-apiserver.exe", "--version", "Kubernetes v1."},
		{"kube-apiserver", "--help", "This is crd-server, which acts as kube-apiserver."},
		{"etcd", "--version", "etcd Version: 3."},
		{"etcd", "--nonsense", "flag provided but not defined: -nonsense\n"},
	} {
		cmd, stdout, stderr := command(t, test.args)
		cmd.Args[0] = filepath.Join("assets", test.name)
		_ = cmd.Run() // the output is looked at
		if got := stdout.String() + stderr.String(); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s %s: got %.300q", test.name, test.args, got)
		}
	}
}

// TestEnvtest checks that the line for a shell is all that goes to the standard output, and that mistakes are one line.
func TestEnvtest(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := command(t, "envtest", "--dir", "assets")
	if err := cmd.Run(); err != nil {
		t.Fatal(err, stderr)
	}
	dir, err := filepath.EvalSymlinks(cmd.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := stdout.String(), "export KUBEBUILDER_ASSETS="+filepath.Join(dir, "assets")+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, name := range []string{"kube-apiserver", "etcd", "kubectl"} {
		if !strings.Contains(stderr.String(), name) {
			t.Errorf("%q does not name %s", stderr, name)
		}
	}

	foreign := filepath.Join(t.TempDir(), "etcd")
	if err := os.WriteFile(foreign, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"envtest": "crd-server: crd-server envtest needs --dir: the folder to make, such as bin/envtest\n",
		"envtest --dir " + filepath.Dir(foreign): "crd-server: " + foreign + " exists and is not crd-server: " +
			"remove it, or choose another folder\n",
		"envtest --folder x": "crd-server: unknown flag: --folder\n",
	} {
		cmd, stdout, stderr := command(t, strings.Fields(args)...)
		_ = cmd.Run() // the output is looked at
		if stderr.String() != want || stdout.Len() > 0 || cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("%s: got %q, %q", args, stdout, stderr)
		}
	}
}
