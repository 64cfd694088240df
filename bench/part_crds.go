package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Rows of the part crds.
var (
	rowInstalled    = Work{partCRDs, "2,065 CRDs: all created, in discovery", Seconds, Target{12, 0}}
	rowInstalledCPU = Work{partCRDs, "2,065 CRDs: CPU for that", Seconds, Target{}}
	rowCRDs         = Work{partCRDs, "memory with 2,065 CRDs", Megabytes, Target{}}
	rowCRDsRead     = Work{partCRDs, "memory, OpenAPI and discovery read once", Megabytes, Target{350, 20}}
	rowCRDsListed   = Work{partCRDs, "memory per CRD, each resource listed once too", Megabytes, Target{0.2, 0}}
	rowCRDsUsed     = Work{partCRDs, "memory, an object of each created too", Megabytes, Target{}}
	rowCRDsIdle     = Work{partCRDs, "memory, half a minute later", Megabytes, Target{}}
	rowCRDsDeleted  = Work{partCRDs, "memory after all CRDs were deleted", Megabytes, Target{}}
	rowV2           = Work{partCRDs, "/openapi/v2, 2,065 CRDs, cold", Seconds, Target{3, 0}}
	rowV3           = Work{partCRDs, "/openapi/v3 index right after a CRD change, worst", Millis, Target{20, 0}}
	rowRestart      = Work{partCRDs, "start with 2,065 CRDs", Millis, Target{1500, 0}}
	rowRestarted    = Work{partCRDs, "first request to a resource after that start, worst", Millis, Target{50, 0}}
)

const (
	// changes is the number of changed CRDs for rowV3.
	changes = 5
	// discoveryTimeout bounds the wait until discovery has all CRDs, or none.
	discoveryTimeout = 5 * time.Minute
)

// manyCRDs installs and uses thousands of CRDs on each server.
func (b *Bench) manyCRDs(ctx context.Context) error {
	definitions, err := b.definitions(b.MaxCRDs)
	if err != nil {
		return err
	}
	for _, kind := range b.kinds(Upstream, Ours, Embedded) {
		if err := b.crdsOf(ctx, kind, definitions); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

// definitions returns the given CRDs, or generated ones.
func (b *Bench) definitions(most int) ([]*Definition, error) {
	b.progress(partCRDs, "read CRDs", "")
	if b.CRDs == "" {
		return generateCRDs(most)
	}
	return loadCRDs(b.CRDs, most)
}

func (b *Bench) crdsOf(ctx context.Context, kind Kind, definitions []*Definition) (err error) {
	s, err := start(ctx, b.Programs, kind)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	steps := []func(context.Context, *Server, []*Definition) error{
		b.install, b.readOpenAPI, b.changeSchemas, b.listEach, b.useEach, b.rest, b.restart, b.deleteAll,
	}
	switch kind {
	case Upstream:
		steps = steps[:7] // upstream takes many minutes to delete them
	case Embedded:
		steps = steps[:2]
	}
	for _, step := range steps {
		if err := step(ctx, s, definitions); err != nil {
			return err
		}
	}
	return nil
}

// install creates all CRDs and waits until discovery has them.
func (b *Bench) install(ctx context.Context, s *Server, definitions []*Definition) error {
	b.progress(partCRDs, rowInstalled.Name, s.Kind)
	wait, err := b.profile(ctx, s, rowInstalled, b.Load)
	if err != nil {
		return err
	}
	sample, err := Load{For: discoveryTimeout, Count: len(definitions),
		Op: func(ctx context.Context, c *Client, i int) error {
			_, err := c.Do(ctx, http.StatusCreated, http.MethodPost, crds, asJSON, definitions[i].Body)
			return err
		}}.run(ctx, s)
	if err != nil {
		return err
	}
	if err := wait(); err != nil {
		return err
	}
	if sample.Ops != len(definitions) {
		return fmt.Errorf("%d of %d CRDs were created in time", sample.Ops, len(definitions))
	}
	began := time.Now()
	if err := s.waitDiscovered(ctx, definitions, true); err != nil {
		return err
	}
	used, err := cpuTime(s.Pid())
	if err != nil {
		return err
	}
	waited := time.Since(began)
	b.Results.Put(rowInstalled, s.Kind, (sample.Elapsed + waited).Seconds())
	b.Results.Put(rowInstalledCPU, s.Kind, used.Seconds())
	b.Results.Note(rowInstalled, s.Kind, "%d CRDs; the last 201 after %.1f s, a creation took %.0f ms (median), %.0f ms "+
		"(p99)",
		len(definitions), sample.Elapsed.Seconds(), millis(sample.P50), millis(sample.P99))
	return b.memory(ctx, s, rowCRDs)
}

// readOpenAPI reads all OpenAPI documents of the CRDs, as a client without a cache does.
func (b *Bench) readOpenAPI(ctx context.Context, s *Server, definitions []*Definition) error {
	b.progress(partCRDs, rowV2.Name, s.Kind)
	wait, err := b.profile(ctx, s, rowV2, b.Load)
	if err != nil {
		return err
	}
	began := time.Now()
	size, err := s.Client().Drain(ctx, "/openapi/v2")
	if err != nil {
		return err
	}
	b.Results.Put(rowV2, s.Kind, time.Since(began).Seconds())
	if err := wait(); err != nil {
		return err
	}
	b.Results.Note(rowV2, s.Kind, "%.1f MB as sent", float64(size)/1e6)

	b.progress(partCRDs, rowCRDsRead.Name, s.Kind)
	index, err := s.Client().getAs(ctx, "/openapi/v3", asJSON)
	if err != nil {
		return err
	}
	var v3 struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	if err := json.Unmarshal(index, &v3); err != nil {
		return err
	}
	if err := s.readDiscovery(ctx, definitions); err != nil {
		return err
	}
	began, size = time.Now(), 0
	for _, path := range v3.Paths {
		read, err := s.Client().Drain(ctx, path.ServerRelativeURL)
		if err != nil {
			return err
		}
		size += read
	}
	b.Results.Note(rowCRDsRead, s.Kind, "%d OpenAPI v3 documents, %.1f MB as sent, in %.1f s", len(v3.Paths),
		float64(size)/1e6, time.Since(began).Seconds())
	return b.memory(ctx, s, rowCRDsRead)
}

// changeSchemas changes CRDs and reads the index of OpenAPI documents after each change.
func (b *Bench) changeSchemas(ctx context.Context, s *Server, definitions []*Definition) error {
	b.progress(partCRDs, rowV3.Name, s.Kind)
	worst := time.Duration(0)
	for i := range changes {
		name := definitions[i*len(definitions)/changes].Name
		patch := fmt.Appendf(nil, `[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/description",`+
			`"value":"change %d"}]`, i)
		if _, err := s.Client().Do(ctx, http.StatusOK, http.MethodPatch, crds+"/"+name, "application/json-patch+json",
			patch); err != nil {
			return err
		}
		began := time.Now()
		if _, err := s.Client().Drain(ctx, "/openapi/v3"); err != nil {
			return err
		}
		worst = max(worst, time.Since(began))
	}
	b.Results.Put(rowV3, s.Kind, millis(worst))
	return nil
}

// listEach lists each resource once.
func (b *Bench) listEach(ctx context.Context, s *Server, definitions []*Definition) error {
	b.progress(partCRDs, rowCRDsListed.Name, s.Kind)
	sample, err := Load{For: discoveryTimeout, Count: len(definitions),
		Op: func(ctx context.Context, c *Client, i int) error {
			code, answer, err := c.Patient(ctx, http.MethodGet, definitions[i].Path, "", nil)
			if err == nil && code != http.StatusOK {
				err = fmt.Errorf("GET %s: status %d: %.300s", definitions[i].Path, code, answer)
			}
			return err
		}}.run(ctx, s)
	if err != nil {
		return err
	}
	memory, err := anonymous(s.Pid())
	if err != nil {
		return err
	}
	b.Results.Put(rowCRDsListed, s.Kind, memory/float64(len(definitions)))
	b.Results.Note(rowCRDsListed, s.Kind, "%.0f MB in all; a first list took %.1f ms (median), %.0f ms (p99)", memory,
		millis(sample.P50), millis(sample.P99))
	return nil
}

// useEach creates an object of each resource. Some schemas refuse it, but are compiled.
func (b *Bench) useEach(ctx context.Context, s *Server, definitions []*Definition) error {
	b.progress(partCRDs, rowCRDsUsed.Name, s.Kind)
	refused := make([]bool, len(definitions))
	sample, err := Load{For: discoveryTimeout, Count: len(definitions),
		Op: func(ctx context.Context, c *Client, i int) error {
			code, answer, err := c.Patient(ctx, http.MethodPost, definitions[i].Path, asJSON, definitions[i].Object)
			refused[i] = code == http.StatusUnprocessableEntity
			if err == nil && code != http.StatusCreated && !refused[i] {
				err = fmt.Errorf("POST %s: status %d: %.300s", definitions[i].Path, code, answer)
			}
			return err
		}}.run(ctx, s)
	if err != nil {
		return err
	}
	count := 0
	for _, no := range refused {
		if no {
			count++
		}
	}
	b.Results.Note(rowCRDsUsed, s.Kind, "%d created, %d refused; a first write took %.0f ms (median), %.0f ms (p99)",
		sample.Ops-count, count, millis(sample.P50), millis(sample.P99))
	return b.memory(ctx, s, rowCRDsUsed)
}

// idleTime is the time without requests for rowCRDsIdle.
const idleTime = 30 * time.Second

// rest measures a time without requests.
func (b *Bench) rest(ctx context.Context, s *Server, _ []*Definition) error {
	b.progress(partCRDs, rowCRDsIdle.Name, s.Kind)
	if err := pause(ctx, idleTime); err != nil {
		return err
	}
	return b.memory(ctx, s, rowCRDsIdle)
}

// restart restarts the server on its data and reads some resources.
func (b *Bench) restart(ctx context.Context, s *Server, definitions []*Definition) error {
	b.progress(partCRDs, rowRestart.Name, s.Kind)
	if err := s.restart(ctx); err != nil {
		return err
	}
	b.Results.Put(rowRestart, s.Kind, millis(s.Started))
	const asked = 50
	worst := time.Duration(0)
	for i := range asked {
		definition := definitions[i*len(definitions)/asked]
		began := time.Now()
		code, answer, err := s.Client().Patient(ctx, http.MethodGet, definition.Path, "", nil)
		if err != nil {
			return err
		}
		if code != http.StatusOK {
			b.Results.Note(rowRestarted, s.Kind, "GET %s: status %d: %.100s", definition.Path, code, answer)
		}
		worst = max(worst, time.Since(began))
	}
	b.Results.Put(rowRestarted, s.Kind, millis(worst))
	return nil
}

// deleteAll deletes all CRDs and waits until they are gone.
func (b *Bench) deleteAll(ctx context.Context, s *Server, definitions []*Definition) error {
	b.progress(partCRDs, rowCRDsDeleted.Name, s.Kind)
	began := time.Now()
	_, err := Load{For: discoveryTimeout, Count: len(definitions), Op: func(ctx context.Context, c *Client, i int) error {
		_, err := c.Do(ctx, http.StatusOK, http.MethodDelete, crds+"/"+definitions[i].Name, "", nil)
		return err
	}}.run(ctx, s)
	if err != nil {
		return err
	}
	if err := s.waitDiscovered(ctx, definitions, false); err != nil {
		return err
	}
	b.Results.Note(rowCRDsDeleted, s.Kind, "deleted in %.1f s", time.Since(began).Seconds())
	return b.memory(ctx, s, rowCRDsDeleted)
}
