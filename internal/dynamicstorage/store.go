package dynamicstorage

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Options configure a Store. Everything but Client has a default.
type Options struct {
	Client *clientv3.Client
	// NewWatcher returns an etcd watcher with gRPC streams of its own, which the store closes. Streams must not be
	// shared: etcd reports the progress of all watches of a stream only when all of them are up to date. Default:
	// watchers over the connection of Client, or the shared Client.Watcher if Client is in-process and has none.
	// See docs/upstream.md, "Watch streams shared by metadata".
	NewWatcher func() clientv3.Watcher
	// Prefix is the common prefix of all keys, for example "/registry".
	Prefix string
	// Transform changes values on their way to and from etcd (encryption at rest). If nil, they are stored unchanged.
	Transform Transformer
	// Header reads the header of a value. It is called once for each value. If nil, headers are empty.
	Header func(value []byte) (Header, error)

	// RingEvents and RingBytes bound the recent events kept for the watchers of a resource (16384; 4 MiB of replaced
	// values).
	RingEvents int
	RingBytes  int64
	// IdleFor is the time after which a resource without reads and watchers becomes cold (15 min; negative: never).
	IdleFor time.Duration
	// WaitFor is how long a read waits for a revision (3 s).
	WaitFor time.Duration
	// AskFor is how long etcd may take to answer the request for its revision, before the next attempt (1 s). After
	// askAttempts it counts as unavailable. An etcd in this process is only slow if the process is.
	AskFor time.Duration
	// CheckViews compares every view that a write attaches with one that is made of the stored value, and Check the
	// views of the entries in the cache. It doubles the work of writes.
	CheckViews bool
	// Logger logs what is not about a request; without a sink klog does.
	Logger klog.Logger
	// Clock is the real clock by default.
	Clock clock.WithTicker
}

// Transformer changes values on their way to and from etcd. key is the full key in etcd, for authentication of the
// data.
type Transformer interface {
	// FromStorage returns the value that is stored as data. stale reports whether it should be written again.
	FromStorage(ctx context.Context, data []byte, key string) (value []byte, stale bool, err error)
	// ToStorage returns the data to store for a value.
	ToStorage(ctx context.Context, value []byte, key string) ([]byte, error)
}

func (o *Options) setDefaults() {
	o.RingEvents = cmp.Or(o.RingEvents, 16384)
	o.RingBytes = cmp.Or(o.RingBytes, 4<<20)
	o.IdleFor = cmp.Or(o.IdleFor, 15*time.Minute)
	o.WaitFor = cmp.Or(o.WaitFor, 3*time.Second)
	o.AskFor = cmp.Or(o.AskFor, time.Second)
	if o.Logger.GetSink() == nil {
		o.Logger = klog.Background()
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
}

// maxLoads bounds the number of resources that are loaded at a time.
const maxLoads = 8

// Store is one etcd prefix.
type Store struct {
	options   Options
	client    *clientv3.Client
	prefix    string // without a trailing slash
	feed      *feed
	revisions revisionBatcher
	leases    *leases
	outage    *outage
	// compactions counts the compactions of etcd by this store.
	compactions atomic.Int64
	// compacted is the revision that etcd has compacted; 0 if no compaction is known.
	compacted atomic.Int64
	// loads holds a token for each load that reads from etcd.
	loads chan struct{}

	// background ends with Run. It stops the goroutines of the store.
	background context.Context
	stop       context.CancelCauseFunc

	// mu guards the fields below.
	mu        sync.RWMutex
	resources map[string]*Resource // by folder
	running   sync.WaitGroup       // goroutines started by spawn; none is added after stopped
	stopped   bool
}

// New returns a store. It answers reads from memory while Run runs.
func New(options Options) (*Store, error) {
	if options.Client == nil {
		return nil, errors.New("dynamicstorage: no etcd client")
	}
	options.setDefaults()
	s := &Store{
		options:   options,
		client:    options.Client,
		prefix:    cleanPrefix(options.Prefix),
		outage:    newOutage(),
		loads:     make(chan struct{}, maxLoads),
		resources: map[string]*Resource{},
	}
	s.background, s.stop = context.WithCancelCause(klog.NewContext(context.Background(), options.Logger))
	s.feed, s.leases = newFeed(s), newLeases(s)
	return s, nil
}

// Run feeds the store from etcd until ctx is done, and returns when all goroutines of the store have ended. Watchers
// end with ErrClosed then. A store runs only once.
func (s *Store) Run(ctx context.Context) error {
	detach := context.AfterFunc(ctx, s.close)
	defer detach()
	defer s.running.Wait()
	defer s.close()
	if !s.spawn(s.runJanitor) || !s.spawn(s.followCompactions) {
		return ErrClosed
	}
	s.feed.run(s.background)
	return nil
}

// close stops the goroutines of the store.
func (s *Store) close() {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.stop(ErrClosed)
}

// spawn runs f, which ends when s.background does, in a goroutine that Run waits for. It reports false if the store
// has stopped.
func (s *Store) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.running.Go(f)
	return true
}

// pause waits for a time, or until ctx is done: then it returns the cause.
func (s *Store) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-s.options.Clock.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Resource returns the resource of a group and plural, whose folder is "<group>/<plural>"; see ResourceAt.
func (s *Store) Resource(group, plural string) *Resource {
	return s.ResourceAt(group + "/" + plural)
}

// ResourceAt returns the resource with the keys <prefix>/<folder>/[<namespace>/]<name>, the same one until it is
// retired. It loads nothing. If the first segment of the folder has a dot, it is a group, and the folder has another
// segment. No folder may lie in that of another resource.
func (s *Store) ResourceAt(folder string) *Resource {
	s.mu.RLock()
	r := s.resources[folder]
	s.mu.RUnlock()
	if r != nil {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r = s.resources[folder]; r == nil {
		r = newResource(s, folder)
		s.resources[folder] = r
	}
	return r
}

// forget removes a resource from those that are fed.
func (s *Store) forget(r *Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resources[r.name] == r {
		delete(s.resources, r.name)
	}
}

// find returns the resource of a full key; nil if nothing has asked for the resource yet.
func (s *Store) find(key []byte) *Resource {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return resourceOf(s.resources, s.prefix, key)
}

// all returns the resources that were asked for.
func (s *Store) all() []*Resource {
	s.mu.RLock()
	defer s.mu.RUnlock()
	resources := make([]*Resource, 0, len(s.resources))
	for _, r := range s.resources {
		resources = append(resources, r)
	}
	return resources
}

// Ready returns nil if etcd answers and the feed follows it.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.feed.ready(); err != nil {
		return err
	}
	_, err := s.CurrentRevision(ctx)
	return err
}
