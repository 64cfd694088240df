package release

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

var install = flag.Bool("install", false, "run TestInstall, which compiles the server again")

// TestInstall installs the newest version of the module from a proxy, as users do.
func TestInstall(t *testing.T) {
	if !*install {
		t.Skip("make test-install runs it: it compiles the server again")
	}
	// go keeps every version that it has seen, so each run has its own.
	version := fmt.Sprintf("%s-test.%d", nextVersion(t), time.Now().UnixNano())
	proxy, bin := writeProxy(t, version), t.TempDir()
	t.Cleanup(func() { forget(t, version) })

	output := goCommand(t, []string{
		"GOBIN=" + bin, "GONOSUMDB=" + modulePath, "GOPROXY=file://" + proxy + "," + goEnv(t, "GOPROXY"),
		"GOFLAGS=" + goEnv(t, "GOFLAGS") + " -modcacherw",
	}, "install", modulePath+"/cmd/crd-server@latest")
	t.Log(output)
	binary := filepath.Join(bin, "crd-server")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	printed, err := exec.CommandContext(t.Context(), binary, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(printed), "crd-server "+version+" (") {
		t.Errorf("crd-server version of %s: %v\n%s", version, err, printed)
	}
}

// forget removes a version from the cache of modules.
func forget(t *testing.T, version string) {
	cache := goEnv(t, "GOMODCACHE")
	downloaded, err := filepath.Glob(filepath.Join(cache, "cache/download", modulePath, "@v", version+".*"))
	if err != nil {
		t.Error(err)
	}
	for _, path := range append(downloaded, filepath.Join(cache, modulePath+"@"+version)) {
		if err := os.RemoveAll(path); err != nil {
			t.Error(err)
		}
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(goCommand(t, nil, "env", name))
}

// goCommand runs go outside of every module.
func goCommand(t *testing.T, env []string, args ...string) string {
	t.Helper()
	command := exec.Command("go", args...) // forget runs it when the context of t has ended
	command.Env = append(os.Environ(), env...)
	command.Dir = os.TempDir()
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}
