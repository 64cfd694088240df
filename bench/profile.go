package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// profile takes a CPU profile of a server during a load and writes it to a file named after the work. The returned
// function waits for it. It does nothing for other servers or without a directory.
func (b *Bench) profile(ctx context.Context, s *Server, work Work, length time.Duration) (func() error, error) {
	if b.Profiles == "" || !s.Kind.own() {
		return func() error { return nil }, nil
	}
	c, err := s.NewClient()
	if err != nil {
		return nil, err
	}
	seconds := max(1, int(length.Seconds()))
	done := make(chan error, 1)
	go func() { // ends when the server has sent the profile
		defer c.Close()
		done <- c.save(ctx, fmt.Sprintf("/debug/pprof/profile?seconds=%d", seconds), b.profileFile(s, work, "cpu"))
	}()
	return func() error { return <-done }, nil
}

// heapProfile takes a profile of a server's memory.
func (b *Bench) heapProfile(ctx context.Context, s *Server, work Work) error {
	if b.Profiles == "" || !s.Kind.own() {
		return nil
	}
	return s.Client().save(ctx, "/debug/pprof/heap", b.profileFile(s, work, "heap"))
}

// save writes a response to a file.
func (c *Client) save(ctx context.Context, path, file string) error {
	code, answer, err := c.Try(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	if code != http.StatusOK {
		return fmt.Errorf("GET %s: status %d: %.300s", path, code, answer)
	}
	return os.WriteFile(file, answer, 0o644)
}

// profileFile names a profile.
func (b *Bench) profileFile(s *Server, work Work, what string) string {
	simple := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}
	name := string(s.Kind) + "-" + work.Part + "-" + work.Name
	return filepath.Join(b.Profiles, strings.Map(simple, strings.ToLower(name))+"."+what+".pprof")
}
