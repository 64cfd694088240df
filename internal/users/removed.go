package users

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Admin is the user of the admin kubeconfig. Whoever can read the data directory can make a new certificate for it, so
// it cannot be removed.
const Admin = "crd-server-admin"

// Removable reports whether the records apply to a user. They do not apply to Admin and to the users of the system, so
// that a record cannot lock out those who could correct it.
func Removable(name string) bool { return name != Admin && !strings.HasPrefix(name, "system:") }

// Removed refuses the certificates of users who were removed. It follows the records in the storage.
type Removed struct {
	// synced is closed when refusing is set for the first time.
	synced chan struct{}
	// refusing has the records of users who were removed, by the name of the user. A map is never changed.
	refusing atomic.Pointer[map[string]*Record]

	// The goroutine that observes has the fields below to itself.

	// found collects the records of users who were removed during a scan; nil otherwise.
	found map[string]*Record
	// names are the users of the keys that were read.
	names map[string]string
	// logger is that of Run.
	logger klog.Logger

	// mu guards watches.
	mu sync.Mutex
	// watches are those of users with certificates, by the name of the user.
	watches map[string]map[*watch]struct{}
}

// watch is a running watch of a user with a certificate.
type watch struct {
	id     string
	cancel context.CancelFunc
}

var _ dynamicstorage.Observer = &Removed{}

// NewRemoved returns a Removed that refuses nobody and makes callers wait until Run knows the records.
func NewRemoved() *Removed {
	return &Removed{synced: make(chan struct{}), names: map[string]string{}, watches: map[string]map[*watch]struct{}{}}
}

// Run follows the records until ctx is done. The Secrets are stored in the folder.
func (r *Removed) Run(ctx context.Context, store *dynamicstorage.Store, folder string) {
	r.logger = klog.FromContext(ctx)
	store.Observe(ctx, r, folder+"/"+Namespace)
}

// Refuse returns an error if the user was authenticated by a certificate that was removed. Until the records are known
// it waits for them.
func (r *Removed) Refuse(ctx context.Context, u user.Info) error {
	if r.refusing.Load() == nil && Removable(u.GetName()) {
		select {
		case <-r.synced:
		case <-ctx.Done():
			return fmt.Errorf("records of removed users: %w", context.Cause(ctx))
		}
	}
	if id, ok := certificateOf(u); ok && r.refuses(u.GetName(), id) {
		return fmt.Errorf("the certificate of user %q was removed", u.GetName())
	}
	return nil
}

func (r *Removed) refuses(name, id string) bool {
	refusing := r.refusing.Load()
	if refusing == nil || len(*refusing) == 0 {
		return false
	}
	record, ok := (*refusing)[name]
	return ok && !record.Allows(id)
}

// certificateOf returns the credential ID of the certificate that has authenticated a user.
func certificateOf(u user.Info) (id string, ok bool) {
	ids := u.GetExtra()[user.CredentialIDKey]
	if len(ids) != 1 || !strings.HasPrefix(ids[0], "X509SHA256=") {
		return "", false
	}
	return ids[0], true
}

// Watch returns a context for a watch, which ends when the certificate of the user is removed. The caller calls stop at
// the end of the watch.
func (r *Removed) Watch(ctx context.Context, u user.Info) (watching context.Context, stop func()) {
	id, ok := certificateOf(u)
	name := u.GetName()
	if !ok || !Removable(name) {
		return ctx, func() {}
	}
	w := &watch{id: id}
	watching, w.cancel = context.WithCancel(ctx)
	r.add(name, w)
	if r.refuses(name, id) { // removed since the request was authenticated
		w.cancel()
	}
	return watching, func() { w.cancel(); r.drop(name, w) }
}

func (r *Removed) add(name string, w *watch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watches[name] == nil {
		r.watches[name] = map[*watch]struct{}{}
	}
	r.watches[name][w] = struct{}{}
}

func (r *Removed) drop(name string, w *watch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.watches[name], w)
	if len(r.watches[name]) == 0 {
		delete(r.watches, name)
	}
}

// endWatches ends the watches of a user whose certificates were removed.
func (r *Removed) endWatches(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := range r.watches[name] {
		if r.refuses(name, w.id) {
			w.cancel()
		}
	}
}

// Reset implements dynamicstorage.Observer. Until the end of the scan the last records stay in use.
func (r *Removed) Reset() { r.found = map[string]*Record{} }

// Observe implements dynamicstorage.Observer.
func (r *Removed) Observe(o dynamicstorage.Observation) {
	record, err := read(&o)
	if err != nil {
		r.logger.Error(err, "Failed to read the record of a user; the last one stays in use", "key", o.Key)
		if known := r.last(o.Key); known != nil && r.found != nil {
			r.found[known.Name] = known
		}
		return
	}
	if r.found != nil {
		r.put(r.found, o.Key, record)
		return
	}
	next := maps.Clone(*r.refusing.Load())
	name := r.put(next, o.Key, record)
	r.refusing.Store(&next)
	r.endWatches(name)
}

// last returns the record of a key as it was read last; nil if it refuses nobody.
func (r *Removed) last(key string) *Record {
	if refusing := r.refusing.Load(); refusing != nil {
		return (*refusing)[r.names[key]]
	}
	return nil
}

// put changes a map by the record of a key, which may be nil, and returns the name of the user.
func (r *Removed) put(records map[string]*Record, key string, record *Record) (name string) {
	if record == nil {
		name = r.names[key]
		delete(r.names, key)
		delete(records, name)
		return name
	}
	r.names[key] = record.Name
	if record.Removed != nil && Removable(record.Name) {
		records[record.Name] = record
	} else {
		delete(records, record.Name)
	}
	return record.Name
}

// Scanned implements dynamicstorage.Observer.
func (r *Removed) Scanned(int64) {
	found, first := r.found, r.refusing.Load() == nil
	r.found = nil
	r.refusing.Store(&found)
	if first {
		close(r.synced)
	}
	for name := range found {
		r.endWatches(name)
	}
}

// read returns the record of a key; nil if there is none.
func read(o *dynamicstorage.Observation) (*Record, error) {
	if name := o.Key[strings.LastIndexByte(o.Key, '/')+1:]; o.Deleted || !strings.HasPrefix(name, namePrefix) {
		return nil, nil
	}
	if o.Err != nil {
		return nil, o.Err
	}
	secret := &corev1.Secret{}
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(o.Value, nil, secret); err != nil {
		return nil, err
	}
	if secret.Type != SecretType {
		return nil, nil
	}
	return FromSecret(secret)
}
