package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/crd-server/crd-server/test/process"
)

// TestLateCreate deletes a CRD while the body of a create is being sent. The next CRD of that name must not get the
// object.
func TestLateCreate(t *testing.T) {
	t.Parallel()
	server := run(t)
	client := dynamicClient(t, server)
	regionCRD := readManifests(t, "../../config/samples/regions.yaml")
	createCRDs(t, client, regionCRD)
	httpClient, err := rest.HTTPClientFor(adminConfig(t, server))
	if err != nil {
		t.Fatal(err)
	}

	body, send := io.Pipe()
	answered := make(chan int, 1)
	go func() {
		path := server.URL + "/apis/infra.example.com/v1/regions"
		response, err := httpClient.Post(path, "application/json", body)
		if err != nil {
			t.Error(err)
			answered <- 0
			return
		}
		response.Body.Close()
		answered <- response.StatusCode
	}()
	whole, err := region("late").MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := send.Write(whole[:10]); err != nil {
		t.Fatal(err)
	}
	name := regionCRD[0].GetName()
	if err := client.Resource(crdResource).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			list, err := client.Resource(crdResource).List(ctx,
				metav1.ListOptions{FieldSelector: "metadata.name=" + name})
			return err == nil && len(list.Items) == 0, err
		})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := send.Write(whole[10:]); err != nil {
		t.Fatal(err)
	}
	send.Close()
	if code := <-answered; code != http.StatusNotFound {
		t.Errorf("the late create was answered with %d", code)
	}
	createCRDs(t, client, regionCRD)
	list, err := client.Resource(resources["Region"]).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("the new CRD has objects already: %v, %v", list, err)
	}
}

// TestStalledWatch stops the server while a watcher does not read. It must stop in time.
func TestStalledWatch(t *testing.T) {
	t.Parallel()
	server := start(t, process.Options{DataDir: filepath.Join(t.TempDir(), "data")})
	client := dynamicClient(t, server)
	createCRDs(t, client, readManifests(t, "../../config/samples/regions.yaml"))
	for n := range 40 {
		object := region(fmt.Sprintf("r%d", n))
		object.SetAnnotations(map[string]string{"padding": strings.Repeat("x", 200<<10)})
		if _, err := client.Resource(resources["Region"]).Create(t.Context(), object,
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	stall(t, adminConfig(t, server), "/apis/infra.example.com/v1/regions?watch=true")
	if err := server.Stop(); err != nil { // it fails if the server has to be killed
		t.Fatal(err)
	}
}

// stall begins a request over HTTP/1.1 and reads only its first line.
func stall(t *testing.T, config *rest.Config, path string) {
	t.Helper()
	certificate, err := tls.X509KeyPair(pem(t, config.CertData, config.CertFile),
		pem(t, config.KeyData, config.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := net.Dial("tcp", address.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	// The server certificate is not checked: this test is not about it.
	secure := tls.Client(connection, &tls.Config{Certificates: []tls.Certificate{certificate}, InsecureSkipVerify: true,
		NextProtos: []string{"http/1.1"}})
	if _, err := fmt.Fprintf(secure, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, address.Host); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReaderSize(secure, 16).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("%q, %v", line, err)
	}
}

func pem(t *testing.T, data []byte, file string) []byte {
	t.Helper()
	if len(data) > 0 {
		return data
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
