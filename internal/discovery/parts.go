package discovery

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash/fnv"
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

// How many CRDs share a part: a part is compressed as a whole, and what CRDs say is much the same; but all of it is made anew
// when one of them changes.
const (
	usualShare = 32
	mostShare  = 4 * usualShare
)

// shares divides CRDs into those that share a part. Where a part begins depends on the CRD that it begins with, so that one
// more or less changes one part, not all that follow.
func shares(records []*crds.Record) (divided [][]*crds.Record) {
	start := 0
	for n := range records {
		hash := fnv.New32a()
		hash.Write([]byte(records[n].Name))
		if n > start && (hash.Sum32()%usualShare == 0 || n-start == mostShare) {
			divided = append(divided, records[start:n])
			start = n
		}
	}
	if start < len(records) {
		divided = append(divided, records[start:])
	}
	return divided
}

// all calls use for the parts of the CRDs, in order. A CRD that cannot be described is left out, as upstream does.
func (p *parts) all(ctx context.Context, records []*crds.Record, key partKey, use func(*part) error) error {
	divided := shares(records)
	batch := 2 * runtime.GOMAXPROCS(0) // what is made before it is sent
	for start := 0; start < len(divided); start += batch {
		some := divided[start:min(start+batch, len(divided))]
		made := make([]*part, len(some))
		group, groupContext := errgroup.WithContext(ctx)
		group.SetLimit(runtime.GOMAXPROCS(0))
		for n, records := range some {
			group.Go(func() (err error) {
				made[n], err = p.get(groupContext, records, key)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		for _, part := range made {
			if part.definitions.size == 0 {
				continue
			}
			if err := use(part); err != nil {
				return err
			}
		}
	}
	return nil
}

// get returns the part of some CRDs, which is empty if none can be described.
func (p *parts) get(ctx context.Context, records []*crds.Record, key partKey) (*part, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	digest := sha256.New()
	for _, record := range records {
		fmt.Fprintf(digest, "%q %q\n", record.Name, record.SpecHash)
	}
	key.digest = string(digest.Sum(nil))
	if found := p.cache.get(key); found != nil {
		return found, nil
	}
	made, err, _ := p.making.Do(fmt.Sprintf("%q %q %t", key.digest, key.version, key.protobuf), func() (any, error) {
		if found := p.cache.get(key); found != nil {
			return found, nil
		}
		made, err := p.make(context.WithoutCancel(ctx), records, key)
		if err != nil {
			return nil, err
		}
		p.cache.put(key, made)
		return made, nil
	})
	if err != nil {
		return nil, err
	}
	return made.(*part), nil
}

// make describes CRDs one after the other.
func (p *parts) make(ctx context.Context, records []*crds.Record, key partKey) (*part, error) {
	made := &part{}
	var paths, definitions []byte
	for _, record := range records {
		made.names = append(made.names, record.Name)
		described, err := p.describe(record, key)
		if err != nil {
			klog.FromContext(ctx).Error(err, "Leaving a CustomResourceDefinition out of OpenAPI", "name", record.Name)
			continue
		}
		if !key.protobuf && len(definitions) > 0 {
			paths, definitions = append(paths, ','), append(definitions, ',')
		}
		paths, definitions = append(paths, described.Paths...), append(definitions, described.Definitions...)
	}
	var err error
	if made.paths, err = newBlock(paths); err != nil {
		return nil, err
	}
	made.definitions, err = newBlock(definitions)
	return made, err
}

// describe returns what a CRD says; as protobuf it is all in the definitions.
func (p *parts) describe(record *crds.Record, key partKey) (*openapi.Part, error) {
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
	if err != nil || !key.protobuf {
		return described, err
	}
	return p.encode(described, key)
}

// encode makes a description for a protobuf document.
func (p *parts) encode(described *openapi.Part, key partKey) (*openapi.Part, error) {
	frame, encode := p.static.V2, openapi.ProtobufV2
	if key.version != "" {
		frame, encode = func() (*openapi.Frame, error) { return p.static.V3(described.Scale) }, openapi.ProtobufV3
	}
	f, err := frame()
	if err != nil {
		return nil, err
	}
	encoded, err := encode(f.Wrap(described))
	return &openapi.Part{Definitions: encoded}, err
}
