package server

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/server/certs"
	"github.com/crd-server/crd-server/internal/server/datadir"
)

// reportReady calls OnReady, or tells the user and systemd that the server is ready.
func (s *server) reportReady() error {
	if s.options.OnReady != nil {
		s.options.OnReady(s.kubeconfig)
		return nil
	}
	embedded, kept := len(s.options.Etcd.Servers) == 0, "data"
	if !embedded {
		kept = "certificates"
	}
	_, err := fmt.Fprintf(s.options.Out,
		"crd-server is ready after %v at %s; %s in %s; use it with: %s\n",
		time.Since(s.options.Started).Round(time.Millisecond), serverURL(s.listener), kept, s.dir.Path(),
		KubeconfigCommand(s.dir.Path(certs.KubeconfigFile)))
	if err != nil {
		return fmt.Errorf("report that the server is ready: %w", err)
	}
	if other := otherDataDir(os.Getenv("KUBECONFIG"), s.dir.Path()); other != "" && embedded && s.dir.IsNew() {
		klog.ErrorS(nil, "The data directory is new and empty, but KUBECONFIG names a file in another one; "+
			"to serve the objects there, restart with its --data-dir", "dataDir", s.dir.Path(), "other", other)
	}
	// SdNotify does nothing unless systemd has started the process.
	if _, err := daemon.SdNotify(true, daemon.SdNotifyReady); err != nil {
		klog.ErrorS(err, "Failed to notify systemd that the server is ready")
	}
	return nil
}

// otherDataDir returns the first data directory except own that has a file of a KUBECONFIG variable; "" if none has.
func otherDataDir(kubeconfig, own string) string {
	for _, file := range filepath.SplitList(kubeconfig) {
		dir, err := filepath.Abs(filepath.Dir(file))
		if err == nil && dir != own && filepath.Base(file) == certs.KubeconfigFile && datadir.Is(dir) {
			return dir
		}
	}
	return ""
}

// KubeconfigCommand returns the command that makes kubectl use a kubeconfig, for the usual shell of this platform.
func KubeconfigCommand(file string) string { return kubeconfigCommand(runtime.GOOS, file) }

func kubeconfigCommand(platform, file string) string {
	if platform == "windows" {
		return "$env:KUBECONFIG='" + strings.ReplaceAll(file, "'", "''") + "'" // PowerShell
	}
	return "export KUBECONFIG=" + ShellQuote(file)
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// ShellQuote makes s one word for a shell.
func ShellQuote(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
