package dynamicstorage

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/utils/clock"
)

// Options are what a Store is made of. Everything but Client has a default.
type Options struct {
	Client *clientv3.Client
	// Prefix is what all keys begin with, "/registry" for example.
	Prefix string
	// Transform changes values on their way to and from etcd (encryption at rest). Nil: they are stored as they are.
	Transform Transformer
	// Header reads what indexes and watches need to know of a value. It is called once per value. Nil: headers are empty.
	Header func(value []byte) (Header, error)

	// RingEvents and RingBytes bound the recent events kept for the watchers of a resource (16384; 4 MiB of replaced values).
	RingEvents int
	RingBytes  int64
	// KeptSnapshots and KeepFor bound the snapshots a resource keeps for continue tokens (8; 75 s).
	KeptSnapshots int
	KeepFor       time.Duration
	// IdleFor is how long a resource may go unread and unwatched before its memory is given back (15 min; negative: forever).
	IdleFor time.Duration
	// WaitFor is how long a read waits for a revision (3 s).
	WaitFor time.Duration
	// Clock tells the time.
	Clock clock.WithTicker
}

// Transformer changes values on their way to and from etcd. key is the full key in etcd, for authentication of the data.
type Transformer interface {
	// FromStorage returns the value stored as data. stale says that it should be written again.
	FromStorage(ctx context.Context, data []byte, key string) (value []byte, stale bool, err error)
	// ToStorage returns what to store for a value.
	ToStorage(ctx context.Context, value []byte, key string) ([]byte, error)
}

func (o *Options) setDefaults() {
	setDefault(&o.RingEvents, 16384)
	setDefault(&o.RingBytes, 4<<20)
	setDefault(&o.KeptSnapshots, 8)
	setDefault(&o.KeepFor, 75*time.Second)
	setDefault(&o.IdleFor, 15*time.Minute)
	setDefault(&o.WaitFor, 3*time.Second)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
}

func setDefault[T comparable](option *T, value T) {
	var zero T
	if *option == zero {
		*option = value
	}
}

// maxLoads is the number of resources that are loaded at a time.
const maxLoads = 8

// Store is one etcd prefix.
type Store struct {
	options  Options
	client   *clientv3.Client
	prefix   string // without a trailing slash
	feed     *feed
	question question
	// compactions of etcd that the store has done.
	compactions atomic.Int64
	// loads holds a token for every load that is reading from etcd.
	loads chan struct{}

	// background ends with Run; goroutines of the store end with it.
	background context.Context
	stop       context.CancelCauseFunc

	// mu guards the fields below.
	mu        sync.RWMutex
	resources map[string]*Resource // by "<group>/<plural>"
	running   sync.WaitGroup       // goroutines started by spawn; nothing is added once stopped
	stopped   bool
}

// New returns a store. Reads are answered from memory once Run runs.
func New(options Options) (*Store, error) {
	if options.Client == nil {
		return nil, errors.New("dynamicstorage: no etcd client")
	}
	options.setDefaults()
	s := &Store{
		options:   options,
		client:    options.Client,
		prefix:    cleanPrefix(options.Prefix),
		loads:     make(chan struct{}, maxLoads),
		resources: map[string]*Resource{},
	}
	s.background, s.stop = context.WithCancelCause(context.Background())
	s.feed = newFeed(s)
	return s, nil
}

// Run feeds the store from etcd until ctx is done, and returns when all goroutines of the store have ended. A store runs once.
// Watchers end with ErrClosed then.
func (s *Store) Run(ctx context.Context) error {
	detach := context.AfterFunc(ctx, s.close)
	defer detach()
	defer s.running.Wait()
	defer s.close()
	if !s.spawn(s.keepHouse) {
		return ErrClosed
	}
	s.feed.run(s.background)
	return nil
}

// close stops everything that runs for the store.
func (s *Store) close() {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.stop(ErrClosed)
}

// spawn runs f in a goroutine that Run waits for; f ends when s.background does. False: the store has stopped.
func (s *Store) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return false
	}
	s.running.Go(f)
	return true
}

// Resource returns the handle of a resource, the same one until it is retired. Nothing is loaded by it.
func (s *Store) Resource(group, plural string) *Resource {
	name := group + "/" + plural
	s.mu.RLock()
	r := s.resources[name]
	s.mu.RUnlock()
	if r != nil {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r = s.resources[name]; r == nil {
		r = newResource(s, name)
		s.resources[name] = r
	}
	return r
}

// forget takes a resource out of those that are fed.
func (s *Store) forget(r *Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resources[r.name] == r {
		delete(s.resources, r.name)
	}
}

// find returns the resource of a full key, nil if nobody has asked for it yet.
func (s *Store) find(key []byte) *Resource {
	name := resourceOf(s.prefix, key)
	if name == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.resources[string(name)]
}

// all returns the resources somebody has asked for.
func (s *Store) all() []*Resource {
	s.mu.RLock()
	defer s.mu.RUnlock()
	resources := make([]*Resource, 0, len(s.resources))
	for _, r := range s.resources {
		resources = append(resources, r)
	}
	return resources
}

// Ready returns nil when etcd answers and the feed runs.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.feed.ready(); err != nil {
		return err
	}
	_, err := s.CurrentRevision(ctx)
	return err
}
