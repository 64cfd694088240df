package discovery

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/discovery/openapi"
	"github.com/crd-server/crd-server/internal/wire"
)

// parts makes the parts of documents, each once, and keeps them within a budget.
type parts struct {
	cache  *partCache
	static *openapi.Static
	making singleflight.Group
}

// all calls use for the parts of the CRDs, in order, while those that follow are being made: as many at a time as there are
// processors, and not more than twice that before they are used. A CRD that cannot be described is left out, as upstream does.
func (p *parts) all(ctx context.Context, records []*crds.Record, key partKey, use func(*part) error) error {
	ctx, stop := context.WithCancel(ctx)
	divided := divide(records)
	made := make([]chan *part, len(divided))
	for n := range made {
		made[n] = make(chan *part, 1)
	}
	workers := runtime.GOMAXPROCS(0)
	ahead := make(chan struct{}, 2*workers)
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range workers { // until all are made, or nobody wants more
		group.Go(func() error {
			for {
				select {
				case ahead <- struct{}{}:
				case <-ctx.Done():
					return ctx.Err()
				}
				n := int(next.Add(1)) - 1
				if n >= len(divided) {
					return nil
				}
				one, err := p.get(ctx, divided[n], key)
				if err != nil {
					return err
				}
				made[n] <- one
			}
		})
	}
	err := inOrder(ctx, made, func(one *part) error {
		<-ahead
		if one.definitions.Length() == 0 {
			return nil
		}
		return use(one)
	})
	stop()
	if failed := group.Wait(); err != nil && failed != nil && !errors.Is(failed, context.Canceled) {
		return failed
	}
	return err
}

// inOrder calls use for what comes out of one channel after the other.
func inOrder(ctx context.Context, made []chan *part, use func(*part) error) error {
	for _, one := range made {
		select {
		case part := <-one:
			if err := use(part); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// get returns the part of some CRDs, which is empty if none can be described. It is made once, whoever asks for it meanwhile.
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
	made, _, _ := p.making.Do(fmt.Sprintf("%q %q %t", key.digest, key.version, key.protobuf), func() (any, error) {
		found := p.cache.get(key)
		if found == nil {
			found = p.make(context.WithoutCancel(ctx), records, key)
			p.cache.put(key, found)
		}
		return found, nil
	})
	return made.(*part), nil
}

// make describes CRDs, as many at a time as there are processors.
func (p *parts) make(ctx context.Context, records []*crds.Record, key partKey) *part {
	made, described := &part{}, make([]openapi.Part, len(records))
	group := errgroup.Group{}
	group.SetLimit(runtime.GOMAXPROCS(0))
	for n, record := range records {
		made.names = append(made.names, record.Name)
		group.Go(func() error {
			one, err := p.describe(record, key)
			if err != nil {
				klog.FromContext(ctx).Error(err, "Leaving a CustomResourceDefinition out of OpenAPI", "name", record.Name)
				return nil
			}
			described[n] = *one
			return nil
		})
	}
	_ = group.Wait() // none fails
	separator := ","
	if key.protobuf {
		separator = ""
	}
	made.paths = wire.DeflateWell(joined(described, separator, func(one *openapi.Part) []byte { return one.Paths }))
	made.definitions = wire.DeflateWell(joined(described, separator, func(one *openapi.Part) []byte { return one.Definitions }))
	return made
}

// joined is a piece of each part that has been described, with something between them.
func joined(parts []openapi.Part, separator string, piece func(*openapi.Part) []byte) []byte {
	var pieces [][]byte
	for n := range parts {
		if len(parts[n].Definitions) > 0 {
			pieces = append(pieces, piece(&parts[n]))
		}
	}
	return bytes.Join(pieces, []byte(separator))
}

// describe returns what a CRD says; as protobuf it is all in the definitions.
func (p *parts) describe(record *crds.Record, key partKey) (described *openapi.Part, err error) {
	defer func() {
		if reason := recover(); reason != nil { // outside of the request's goroutine it would cost the server
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
