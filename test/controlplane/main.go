// Command controlplane serves kube-apiserver with the flags, the ready line and the admin.kubeconfig of crd-server,
// with an etcd in its own process, and beside it the controllers of kube-controller-manager that crd-server has too.
// Its responses and its controllers are the reference for built-in resources.
//
// Priority and fairness is disabled. Without --service-accounts so is the admission plugin ServiceAccount: the
// controller that gives namespaces their accounts does not run. Roles and bindings authorize users. Arguments after --
// are passed to kube-apiserver.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/crd-server/crd-server/test/etcd/embedded"
	"github.com/crd-server/crd-server/test/process"
)

func main() {
	var o options
	pflag.StringVar(&o.dir, "data-dir", "controlplane.data", "directory for the admin kubeconfig, keys and etcd's data")
	pflag.StringVar(&o.address, "bind-address", "127.0.0.1", "address to listen on")
	pflag.IntVar(&o.port, "secure-port", 0, "port to listen on; 0 for any free one")
	pflag.StringVar(&o.apiserver, "kube-apiserver", "", "path of kube-apiserver")
	pflag.StringVar(&o.controllers, "kube-controller-manager", "", "path of kube-controller-manager; empty for none")
	pflag.BoolVar(&o.accounts, "service-accounts", false, "whether pods need service accounts")
	pflag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := o.serve(ctx, pflag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	dir, address           string
	port                   int
	apiserver, controllers string
	accounts               bool
}

// serve runs the programs until ctx is done or one of them ends.
func (o *options) serve(ctx context.Context, further []string) error {
	etcd, err := embedded.Start(ctx, filepath.Join(o.dir, "etcd"))
	if err != nil {
		return err
	}
	defer etcd.Close()
	if err := o.choosePort(); err != nil {
		return err
	}
	c, err := newCredentials(o.dir, net.JoinHostPort(o.address, strconv.Itoa(o.port)))
	if err != nil {
		return err
	}
	programs, serving := errgroup.WithContext(ctx)
	programs.Go(func() error { return run(serving, o.apiserver, append(o.apiserverFlags(c, etcd.URL), further...)) })
	programs.Go(func() error {
		if err := c.await(serving); err != nil {
			return err
		}
		fmt.Printf("kube-apiserver is ready: export KUBECONFIG=%s; https://%s\n", c.kubeconfig, c.address)
		if o.controllers == "" {
			return nil
		}
		return run(serving, o.controllers, controllerFlags(c))
	})
	return programs.Wait()
}

// choosePort replaces port 0, which kube-apiserver refuses.
func (o *options) choosePort() error {
	if o.port != 0 {
		return nil
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(o.address, "0"))
	if err != nil {
		return err
	}
	o.port = listener.Addr().(*net.TCPAddr).Port
	return listener.Close()
}

func (o *options) apiserverFlags(c *credentials, etcd string) []string {
	flags := []string{
		"--etcd-servers", etcd,
		"--bind-address", o.address,
		"--secure-port", strconv.Itoa(o.port),
		"--external-hostname", o.address,
		"--cert-dir", c.dir,
		"--token-auth-file", c.tokens,
		"--authorization-mode", "RBAC",
		"--service-cluster-ip-range", "10.0.0.0/24",
		"--service-account-issuer", "https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file", c.key,
		"--service-account-signing-key-file", c.key,
		"--enable-priority-and-fairness=false",
		"--allow-privileged", // as in most clusters
	}
	if !o.accounts {
		flags = append(flags, "--disable-admission-plugins", "ServiceAccount")
	}
	return flags
}

// controllerFlags make the controllers notice new kinds and changed quotas within seconds.
func controllerFlags(c *credentials) []string {
	return []string{
		"--kubeconfig", c.kubeconfig,
		"--controllers", "garbage-collector-controller,namespace-controller,resourcequota-controller," +
			"clusterrole-aggregation-controller",
		"--leader-elect=false",
		"--secure-port", "0",
		"--kube-api-qps", "1000",
		"--kube-api-burst", "1000",
		"--resource-quota-sync-period", "2s",
	}
}

// run runs a program until ctx is done.
func run(ctx context.Context, path string, args []string) error {
	command := exec.CommandContext(ctx, path, args...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.SysProcAttr = process.EndWithParent()
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 20 * time.Second
	if err := command.Run(); ctx.Err() == nil {
		return fmt.Errorf("%s ended: %w", filepath.Base(path), errors.Join(err, errors.New("too early")))
	}
	return nil
}

// await waits until kube-apiserver is ready and has made the namespace default.
func (c *credentials) await(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		client, err := c.client()
		if err != nil {
			return false, nil // the certificate does not exist yet
		}
		for _, path := range []string{"/readyz", "/api/v1/namespaces/default", "/apis/apiextensions.k8s.io/v1"} {
			if client.Get().AbsPath(path).Do(ctx).Error() != nil {
				return false, nil
			}
		}
		return true, nil
	})
}
