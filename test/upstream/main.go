// Command upstream serves k8s.io/apiextensions-apiserver with the flags, the ready line and the admin.kubeconfig of
// crd-server. Its answers, its stored data and its costs are the reference for crd-server.
//
// It starts upstream's server with its own options and OpenAPI enabled, like upstream's test server
// (pkg/cmd/server/testing), but as a process, and without the waits of the test server. Authentication, authorization
// and admission that would ask a host cluster are disabled. Arguments after -- are passed to upstream.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/crd-server/crd-server/test/etcd/embedded"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

func main() {
	dir := pflag.String("data-dir", "upstream.data", "directory for the admin kubeconfig, and for etcd's data")
	address := pflag.String("bind-address", "127.0.0.1", "address to listen on")
	port := pflag.Int("secure-port", 0, "port to listen on; 0 for any free one")
	etcd := pflag.String("etcd-servers", "", "etcd to use; one in this process by default")
	pflag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *dir, net.JoinHostPort(*address, strconv.Itoa(*port)), *etcd, pflag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "upstream:", err)
		os.Exit(1)
	}
}

// serve runs the server until ctx is done.
func serve(ctx context.Context, dir, address, etcd string, flags []string) error {
	if etcd == "" {
		own, err := embedded.Start(ctx, filepath.Join(dir, "etcd"))
		if err != nil {
			return err
		}
		defer own.Close()
		etcd = own.URL
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	config, err := configure(dir, listener, etcd, flags)
	if err != nil {
		return err
	}
	server, err := config.Complete().New(genericapiserver.NewEmptyDelegate())
	if err != nil {
		return err
	}
	admin := filepath.Join(dir, "admin.kubeconfig")
	if err := writeKubeconfig(admin, server.GenericAPIServer.LoopbackClientConfig); err != nil {
		return err
	}
	err = server.GenericAPIServer.AddPostStartHook("ready-line", func(hook genericapiserver.PostStartHookContext) error {
		known := server.Informers.Apiextensions().V1().CustomResourceDefinitions().Informer().HasSynced
		synced := func(context.Context) (bool, error) { return known(), nil }
		if err := wait.PollUntilContextCancel(hook, time.Millisecond, true, synced); err != nil {
			return err
		}
		fmt.Printf("upstream is ready: export KUBECONFIG=%s; https://%s\n", admin, listener.Addr())
		return nil
	})
	if err != nil {
		return err
	}
	return server.GenericAPIServer.PrepareRun().RunWithContext(ctx)
}
