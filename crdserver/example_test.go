package crdserver_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"

	"google.golang.org/grpc/test/bufconn"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/crdserver"
)

// A server with a CRD, in memory, that a client of the same program uses.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	server := crdserver.New(crdserver.Options{CRDPaths: []string{"../crdservertest/testdata/tables.yaml"}})
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	select {
	case <-server.Ready():
	case err := <-ended:
		log.Fatal(err)
	}

	client, err := dynamic.NewForConfig(server.Config())
	if err != nil {
		log.Fatal(err)
	}
	created, err := client.Resource(tables).Namespace("default").Create(ctx, table("one"), metav1.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(created.GetKind(), created.GetName(), "is stored")

	stop()
	fmt.Println("Run returns", <-ended)
	// Output:
	// Table one is stored
	// Run returns <nil>
}

// A server without a port that serves a path of the program beside its own.
func ExampleOptions() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	hello := func(w http.ResponseWriter, req *http.Request) {
		user, _ := request.UserFrom(req.Context())
		fmt.Fprintf(w, "hello %s", user.GetName())
	}
	server := crdserver.New(crdserver.Options{
		Listener: bufconn.Listen(1 << 16),
		Handlers: map[string]http.Handler{"/hello": http.HandlerFunc(hello)},
	})
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	select {
	case <-server.Ready():
	case err := <-ended:
		log.Fatal(err)
	}

	config := server.Config()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		log.Fatal(err)
	}
	response, err := client.Get(config.Host + "/hello")
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(body))
	// Output:
	// hello crd-server-admin
}
