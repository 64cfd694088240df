package fault

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/crd-server/crd-server/test/process"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The resource that all scenarios use.
const (
	group       = "fault.example.com"
	plural      = "cells"
	cells       = "/apis/" + group + "/v1/namespaces/fault/" + plural
	definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

	definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
"metadata":{"name":"` + plural + `.` + group + `"},
"spec":{"group":"` + group + `","scope":"Namespaced","names":{"plural":"cells","singular":"cell","kind":"Cell",
"listKind":"CellList"},
 "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
  "spec":{"type":"object","properties":{"value":{"type":"string"}}}}}}}]}}`
)

// Media types of requests.
const (
	asJSON       = "application/json"
	asMergePatch = "application/merge-patch+json"
	asApply      = "application/apply-patch+yaml"
)

const (
	// requestTimeout bounds a request. It is longer than the server's own limit of a minute, so that stuck requests
	// get a response.
	requestTimeout = 75 * time.Second
	// patience bounds every wait.
	patience = 2 * time.Minute
)

// object has the fields of an object that scenarios use.
type object struct {
	Metadata struct {
		Name              string `json:"name"`
		ResourceVersion   string `json:"resourceVersion"`
		DeletionTimestamp string `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		Value string `json:"value"`
	} `json:"spec"`
}

func (o *object) revision() int64 {
	revision, err := strconv.ParseInt(o.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		return -1
	}
	return revision
}

// body returns the JSON of an object; a revision of 0 is left out.
func body(name, value string, revision int64) []byte {
	version := ""
	if revision != 0 {
		version = fmt.Sprintf(`,"resourceVersion":"%d"`, revision)
	}
	return fmt.Appendf(nil,
		`{"apiVersion":"%s/v1","kind":"Cell","metadata":{"name":"%s","namespace":"fault"%s},"spec":{"value":"%s"}}`,
		group, name, version, value)
}

// client is a client of one server. It never retries.
type client struct {
	http *http.Client
	base string
	// token authenticates the client to upstream's server; our own gets a certificate.
	token string
}

// newClient returns a client with its own connection.
func newClient(t *testing.T, server *process.Server) *client {
	t.Helper()
	c, err := connect(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

// connect is newClient outside of a test's goroutine. The caller closes idle connections.
func connect(server *process.Server) (*client, error) {
	return connectTo(server.URL, server.Kubeconfig)
}

// connectTo is connect for a process of another test program.
func connectTo(url, kubeconfig string) (*client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	security, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	return &client{base: url, token: config.BearerToken,
		http: &http.Client{Transport: &http.Transport{TLSClientConfig: security,
			ForceAttemptHTTP2: true}}}, nil
}

// do sends a request and reads the response.
func (c *client) do(ctx context.Context, method, path, mediaType string, content []byte) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := c.open(ctx, method, path, mediaType, content)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// open sends a request. The caller reads and closes the body.
func (c *client) open(ctx context.Context, method, path, mediaType string, content []byte) (*http.Response, error) {
	return c.openAs(ctx, "", method, path, mediaType, content)
}

// openAs is open as another user, unless user is "". headers are names and values in turn.
func (c *client) openAs(ctx context.Context, user, method, path, mediaType string, content []byte,
	headers ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	if content != nil {
		req.Header.Set("Content-Type", mediaType)
	}
	for n := 0; n < len(headers); n += 2 {
		req.Header.Set(headers[n], headers[n+1])
	}
	return c.sendAs(user, req)
}

// sendAs sends a request as another user, unless user is "".
func (c *client) sendAs(user string, req *http.Request) (*http.Response, error) {
	if user != "" {
		req.Header.Set("Impersonate-User", user)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return c.http.Do(req)
}

// must is do for a request that has to succeed.
func (c *client) must(t *testing.T, code int, method, path, mediaType string, content []byte) []byte {
	t.Helper()
	got, answer, err := c.do(t.Context(), method, path, mediaType, content)
	if err != nil || got != code {
		t.Fatalf("%s %s: %d %v %.300s", method, path, got, err, answer)
	}
	return answer
}

// list returns all objects and the revision of the list.
func (c *client) list(ctx context.Context) (items map[string]object, revision int64, code int, err error) {
	code, answer, err := c.do(ctx, http.MethodGet, cells, "", nil)
	if err != nil || code != http.StatusOK {
		return nil, 0, code, err
	}
	var list struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Items []object `json:"items"`
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return nil, 0, code, fmt.Errorf("a list is not JSON: %w: %.300s", err, answer)
	}
	items = map[string]object{}
	for _, item := range list.Items {
		items[item.Metadata.Name] = item
	}
	if len(items) != len(list.Items) {
		return nil, 0, code, fmt.Errorf("a list has an object twice: %.300s", answer)
	}
	revision, err = strconv.ParseInt(list.Metadata.ResourceVersion, 10, 64)
	return items, revision, code, err
}
