package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// byVersion groups the plurals of CRDs by the discovery path of their version.
func byVersion(definitions []*Definition) map[string][]string {
	versions := map[string][]string{}
	for _, definition := range definitions {
		version, plural := path.Split(definition.Path)
		version = strings.TrimSuffix(strings.TrimSuffix(version, "/"), "/namespaces/bench")
		versions[version] = append(versions[version], plural)
	}
	return versions
}

// waitDiscovered waits until all resources are in the discovery documents of their versions, or none is. It does not
// use aggregated discovery, which upstream's server leaves to the aggregator.
func (s *Server) waitDiscovered(ctx context.Context, definitions []*Definition, there bool) error {
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	versions := byVersion(definitions)
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		for {
			known, err := s.Client().resources(ctx, version)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(versions[version], func(plural string) bool { return known[plural] != there }) {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("wait for %s in discovery: %w", version, ctx.Err())
			case <-time.After(20 * time.Millisecond): // requests cost the server too
			}
		}
	}
	return nil
}

// resources returns the plurals in the discovery document of a version.
func (c *Client) resources(ctx context.Context, version string) (map[string]bool, error) {
	code, answer, err := c.Try(ctx, http.MethodGet, version, "", nil)
	if err != nil || code == http.StatusNotFound {
		return nil, err
	}
	if code != http.StatusOK {
		return nil, fmt.Errorf("GET %s: status %d: %.300s", version, code, answer)
	}
	if answer, err = unpack(answer); err != nil {
		return nil, err
	}
	var list struct{ Resources []struct{ Name string } }
	if err := json.Unmarshal(answer, &list); err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, resource := range list.Resources {
		known[resource.Name] = true
	}
	return known, nil
}

// readDiscovery reads discovery once, and skips what the server does not have yet.
func (s *Server) readDiscovery(ctx context.Context, definitions []*Definition) error {
	if s.Kind != Upstream {
		for _, as := range []string{asJSON, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"} {
			if _, err := s.Client().getAs(ctx, "/apis", as); err != nil {
				return err
			}
		}
	}
	for version := range byVersion(definitions) {
		if _, err := s.Client().Get(ctx, version); err != nil {
			return err
		}
	}
	return nil
}
