package discovery

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
	"k8s.io/klog/v2"
	"k8s.io/utils/lru"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/discovery/openapi"
	"github.com/crd-server/crd-server/internal/wire"
)

// section is an openapi.Section, compressed: it takes a tenth of the memory, and clients that accept gzip get it as it
// is. In a protobuf document it is all in definitions.
type section struct {
	paths, definitions wire.Deflated
	// specHash is that of the CRD that the section describes.
	specHash string
}

// sectionKey says which section of a CRD is meant.
type sectionKey struct {
	name     string // of the CRD
	version  string // empty in OpenAPI version 2, which describes all served versions
	protobuf bool
}

// maxSections bounds the number of sections that are kept. A section has 5 KB or so.
const maxSections = 16 << 10

// sections makes the sections of documents and keeps those used last.
type sections struct {
	static *openapi.Static
	kept   *lru.Cache // sectionKey -> *section
	making singleflight.Group
}

func newSections(static *openapi.Static, most int) *sections {
	return &sections{static: static, kept: lru.New(most)}
}

// forget drops the sections of a CRD that has changed.
func (s *sections) forget(record *crds.Record) {
	for _, version := range append(servedVersions(record), "") {
		for _, protobuf := range []bool{false, true} {
			s.kept.Remove(sectionKey{name: record.Name, version: version, protobuf: protobuf})
		}
	}
}

// all returns the sections of some CRDs, in order, without those that cannot be made: upstream leaves such CRDs out of
// documents, too.
func (s *sections) all(ctx context.Context, records []*crds.Record, version string, protobuf bool) ([]*section, error) {
	made := make([]*section, len(records))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for n, record := range records {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			one, err := s.get(record, sectionKey{name: record.Name, version: version, protobuf: protobuf})
			if err != nil {
				klog.FromContext(ctx).Error(err, "Leaving a CustomResourceDefinition out of OpenAPI", "name", record.Name)
				return nil
			}
			made[n] = one
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	described := made[:0]
	for _, one := range made {
		if one != nil && one.definitions.Length() > 0 {
			described = append(described, one)
		}
	}
	return described, nil
}

// get returns a section. Concurrent callers share the work.
func (s *sections) get(record *crds.Record, key sectionKey) (*section, error) {
	if found, ok := s.kept.Get(key); ok && found.(*section).specHash == record.SpecHash {
		return found.(*section), nil
	}
	made, err, _ := s.making.Do(fmt.Sprint(key, record.SpecHash), func() (any, error) {
		one, err := s.describe(record, key)
		if err != nil {
			return nil, err
		}
		made := &section{paths: wire.Deflate(one.Paths), definitions: wire.Deflate(one.Definitions),
			specHash: record.SpecHash}
		s.kept.Add(key, made)
		return made, nil
	})
	if err != nil {
		return nil, err
	}
	return made.(*section), nil
}

func (s *sections) describe(record *crds.Record, key sectionKey) (described *openapi.Section, err error) {
	defer func() {
		if reason := recover(); reason != nil { // it would end the server, because this is not the request's goroutine
			described, err = nil, fmt.Errorf("panic: %v", reason)
		}
	}()
	crd, err := record.Internal()
	if err != nil {
		return nil, err
	}
	if key.version == "" {
		described, err = openapi.V2(crd)
	} else {
		described, err = openapi.V3(crd, key.version)
	}
	if err != nil || !key.protobuf {
		return described, err
	}
	document, err := s.static.V2()
	if key.version != "" {
		document, err = s.static.V3(described.Scale)
	}
	if err != nil {
		return nil, err
	}
	encoded, err := document.EncodeSection(described)
	return &openapi.Section{Definitions: encoded}, err
}
