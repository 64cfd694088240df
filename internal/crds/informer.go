package crds

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Run is the informer of the CRDs: it lists and watches them, keeps the table up to date, and calls the functions of
// OnChange, until ctx is done or the store stops. It logs and skips CRDs that cannot be decoded.
func (t *Table) Run(ctx context.Context) {
	var listed []*dynamicstorage.Entry
	listing := false
	t.definitions.Follow(ctx, dynamicstorage.Follower{
		Begin: func() {
			listing, listed = true, nil
			t.reached.move(0) // etcd may have been restored from a backup, and its revisions be those of other changes
		},
		Changed: func(event *dynamicstorage.Event) {
			if listing {
				listed = append(listed, event.Entry)
				return
			}
			t.change(ctx, event)
		},
		Current: func(revision int64) {
			if listing {
				t.replace(recordsOf(ctx, listed))
				listing, listed = false, nil
				t.reached.sync()
			}
			t.reached.move(revision)
		},
	})
}

// change applies an event.
func (t *Table) change(ctx context.Context, event *dynamicstorage.Event) {
	if event.Entry == nil {
		t.drop(event.Prev.Key)
	} else if record := recordOf(ctx, event.Entry); record != nil {
		t.show(record)
	}
	t.reached.move(event.Revision)
}

// replace applies a list of all records, some of which may be nil.
func (t *Table) replace(records []*Record) {
	names := make(map[string]bool, len(records))
	for _, record := range records {
		if record != nil {
			names[record.Name] = true
			t.show(record)
		}
	}
	for record := range t.All() {
		if !names[record.Name] {
			t.drop(record.Name)
		}
	}
}

// recordsOf decodes entries in parallel, because a start with thousands of CRDs waits for it.
func recordsOf(ctx context.Context, entries []*dynamicstorage.Entry) []*Record {
	records := make([]*Record, len(entries))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		readers.Go(func() {
			for n := next.Add(1) - 1; n < int64(len(entries)); n = next.Add(1) - 1 {
				records[n] = recordOf(ctx, entries[n])
			}
		})
	}
	readers.Wait()
	return records
}

// recordOf returns nil if the entry cannot be decoded.
func recordOf(ctx context.Context, entry *dynamicstorage.Entry) *Record {
	record, err := NewRecord(entry)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Skipping a CustomResourceDefinition that cannot be read", "name", entry.Key,
			"revision", entry.Revision)
		return nil
	}
	return record
}

// progress is a revision up to which all changes have been applied, for goroutines that wait for it.
type progress struct {
	// synced is closed when the first list has been applied.
	synced chan struct{}
	once   sync.Once

	// mu guards the fields below.
	mu       sync.Mutex
	revision int64
	// moved is closed and replaced when the revision changes.
	moved chan struct{}
}

func (p *progress) init() { p.synced, p.moved = make(chan struct{}), make(chan struct{}) }

func (p *progress) sync() { p.once.Do(func() { close(p.synced) }) }

func (p *progress) move(revision int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revision = revision
	close(p.moved)
	p.moved = make(chan struct{})
}

func (p *progress) wait(ctx context.Context, name string, revision int64) error {
	for {
		p.mu.Lock()
		reached, moved := p.revision >= revision, p.moved
		p.mu.Unlock()
		if reached {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("waiting for CustomResourceDefinition %s at revision %d: %w", name, revision, context.Cause(ctx))
		}
	}
}
