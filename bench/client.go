package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// Media types of requests.
const (
	asJSON       = "application/json"
	asMergePatch = "application/merge-patch+json"
	asApply      = "application/apply-patch+yaml"
)

// Client is one client of a server with one connection. Apart from streams it sends one request at a time. It does as
// little work as possible, because it shares the machine.
type Client struct {
	http   *http.Client
	base   string
	bearer string
	// accept replaces JSON as the requested media type, if set.
	accept string
	// plain omits Accept-Encoding: gzip.
	plain bool
	body  bytes.Buffer
}

// newClient reads the address and the credential of a server from its kubeconfig; url overrides the address.
func newClient(kubeconfig, url string) (*Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	c := newAnonymousClient(url)
	c.bearer = config.BearerToken
	if len(config.CertData) > 0 {
		pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
		if err != nil {
			return nil, fmt.Errorf("client certificate in %s: %w", kubeconfig, err)
		}
		c.http.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

func newAnonymousClient(url string) *Client {
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, // a child process; the check costs the server nothing
		},
		ForceAttemptHTTP2:  true,
		DisableCompression: true, // open asks for it and nothing decompresses
	}
	return &Client{http: &http.Client{Transport: transport}, base: url}
}

// Close closes the connection.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// open sends a request. The caller closes the body of the response.
func (c *Client) open(ctx context.Context, method, path, mediaType string, body []byte) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return nil, err
	}
	if c.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+c.bearer)
	}
	if body != nil {
		req.Header.Set("Content-Type", mediaType)
	}
	req.Header.Set("Accept", cmp.Or(c.accept, asJSON))
	if method == http.MethodGet && !c.plain {
		req.Header.Set("Accept-Encoding", "gzip")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.ProtoMajor != 2 {
		resp.Body.Close()
		return nil, fmt.Errorf("%s %s: answered over %s, not HTTP/2", method, path, resp.Proto)
	}
	return resp, nil
}

// Do sends a request and returns the body of the response, which is valid until the next Do. An unexpected status is
// an error.
func (c *Client) Do(ctx context.Context, expected int, method, path, mediaType string, body []byte) ([]byte, error) {
	code, answer, err := c.Try(ctx, method, path, mediaType, body)
	if err == nil && code != expected {
		err = fmt.Errorf("%s %s: status %d, not %d: %.500s", method, path, code, expected, answer)
	}
	return answer, err
}

// Try is Do for any status.
func (c *Client) Try(ctx context.Context, method, path, mediaType string, body []byte) (int, []byte, error) {
	resp, err := c.open(ctx, method, path, mediaType, body)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	c.body.Reset()
	if _, err := c.body.ReadFrom(resp.Body); err != nil {
		return 0, nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return resp.StatusCode, c.body.Bytes(), nil
}

// Patient repeats Try while the server answers 429 or 504. Upstream's does so while it fills a cache for the first
// time, and while a cache lags behind writes.
func (c *Client) Patient(ctx context.Context, method, path, mediaType string, body []byte) (int, []byte, error) {
	for {
		code, answer, err := c.Try(ctx, method, path, mediaType, body)
		if err != nil || code != http.StatusTooManyRequests && code != http.StatusGatewayTimeout {
			return code, answer, err
		}
		select {
		case <-ctx.Done():
			return code, answer, ctx.Err()
		case <-time.After(20 * time.Millisecond): // Retry-After says a second, which would only make the run longer
		}
	}
}

// Get reads one object or list.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	return c.Do(ctx, http.StatusOK, http.MethodGet, path, "", nil)
}

// getAs reads one object or list in a media type, decompressed.
func (c *Client) getAs(ctx context.Context, path, mediaType string) ([]byte, error) {
	c.accept = mediaType
	answer, err := c.Get(ctx, path)
	c.accept = ""
	if err != nil {
		return nil, err
	}
	return unpack(answer)
}

// Drain reads a response without keeping it, and returns the number of bytes on the wire.
func (c *Client) Drain(ctx context.Context, path string) (int64, error) {
	resp, err := c.open(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("GET %s: status %d", path, resp.StatusCode)
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, resp.Body, make([]byte, 256<<10))
	if err != nil {
		return n, fmt.Errorf("GET %s: %w", path, err)
	}
	return n, nil
}

// waitReady asks /readyz until it answers 200.
func (c *Client) waitReady(ctx context.Context) error {
	for {
		code, _, err := c.Try(ctx, http.MethodGet, "/readyz", "", nil)
		if err == nil && code == http.StatusOK {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for /readyz: %w (last: %d %v)", ctx.Err(), code, err)
		case <-time.After(2 * time.Millisecond):
		}
	}
}
