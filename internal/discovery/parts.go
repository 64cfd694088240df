package discovery

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/discovery/openapi"
)

// parts makes the parts of documents, each once, and keeps them within a budget.
type parts struct {
	cache  *partCache
	static *openapi.Static
	making singleflight.Group
}

// batch is how many parts are made before they are sent.
const batch = 64

// all calls use for the part of every CRD, in order. A CRD that cannot be described is left out, as upstream does.
func (p *parts) all(ctx context.Context, records []*crds.Record, key partKey, use func(*part) error) error {
	made := make([]*part, batch)
	for start := 0; start < len(records); start += batch {
		some := records[start:min(start+batch, len(records))]
		group, groupContext := errgroup.WithContext(ctx)
		group.SetLimit(runtime.GOMAXPROCS(0))
		for n, record := range some {
			group.Go(func() error {
				made[n] = p.get(groupContext, record, key)
				return groupContext.Err()
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		for n := range some {
			if made[n] == nil {
				continue
			}
			if err := use(made[n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// get returns the part of a CRD, nil if it cannot be described.
func (p *parts) get(ctx context.Context, record *crds.Record, key partKey) *part {
	key.name, key.specHash = record.Name, record.SpecHash
	if found := p.cache.get(key); found != nil {
		return found
	}
	made, err, _ := p.making.Do(fmt.Sprintf("%q %q %q %t", key.name, key.specHash, key.version, key.protobuf), func() (any, error) {
		if found := p.cache.get(key); found != nil {
			return found, nil
		}
		made, err := p.make(record, key)
		if err != nil {
			return nil, err
		}
		p.cache.put(key, made)
		return made, nil
	})
	if err != nil {
		klog.FromContext(ctx).Error(err, "Leaving a CustomResourceDefinition out of OpenAPI", "name", record.Name)
		return nil
	}
	return made.(*part)
}

func (p *parts) make(record *crds.Record, key partKey) (*part, error) {
	crd, err := record.Definition()
	if err != nil {
		return nil, err
	}
	var described *openapi.Part
	if key.version == "" {
		described, err = openapi.V2(crd)
	} else {
		described, err = openapi.V3(crd, key.version)
	}
	if err != nil {
		return nil, err
	}
	if key.protobuf {
		return p.encode(described, key)
	}
	made := &part{}
	if made.paths, err = newBlock(described.Paths); err != nil {
		return nil, err
	}
	made.definitions, err = newBlock(described.Definitions)
	return made, err
}

// encode makes a part for a protobuf document.
func (p *parts) encode(described *openapi.Part, key partKey) (*part, error) {
	frame, encode := p.static.V2, openapi.ProtobufV2
	if key.version != "" {
		frame, encode = func() (*openapi.Frame, error) { return p.static.V3(described.Scale) }, openapi.ProtobufV3
	}
	f, err := frame()
	if err != nil {
		return nil, err
	}
	encoded, err := encode(f.Wrap(described))
	if err != nil {
		return nil, err
	}
	made := &part{}
	made.definitions, err = newBlock(encoded)
	return made, err
}

// forget gives up the parts of a CRD that has changed.
func (p *parts) forget(record *crds.Record) {
	key := partKey{name: record.Name, specHash: record.SpecHash}
	p.drop(key)
	for n := range record.Versions {
		key.version = record.Versions[n].Name
		p.drop(key)
	}
}

func (p *parts) drop(key partKey) {
	p.cache.remove(key)
	key.protobuf = true
	p.cache.remove(key)
}
