package builtins

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crd-server/crd-server/internal/access/admission/plugins/serviceaccount"
	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// accountWait bounds how long a new pod waits for the account that a controller gives to each namespace. It is the mean
// of kube-apiserver's ten lookups.
const accountWait = 1350 * time.Millisecond

// accountFinder finds the service accounts of new pods.
type accountFinder struct {
	entries *dynamicstorage.Resource
	codec   *builtin.Codec
}

// findAccounts returns a function that finds service accounts; nil if there are none.
func findAccounts(c *Config) serviceaccount.Accounts {
	d := c.Set.Find(corev1.Resource("serviceaccounts"))
	if d == nil {
		return nil
	}
	f := &accountFinder{entries: c.Store.ResourceAt(d.StorageFolder()), codec: c.Set.Codec(d)}
	return f.find
}

// find returns an account.
func (f *accountFinder) find(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	key := namespace + "/" + name
	entry, revision, err := f.entries.Get(ctx, key, dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
	if errors.Is(err, dynamicstorage.ErrNotFound) && name == serviceaccount.DefaultAccount {
		entry, err = f.await(ctx, key, revision)
	}
	switch {
	case errors.Is(err, dynamicstorage.ErrNotFound), errors.Is(err, dynamicstorage.ErrInvalidKey):
		return nil, apierrors.NewNotFound(corev1.Resource("serviceaccount"), name) // the singular is kube-apiserver's
	case err != nil:
		return nil, err
	}
	obj, err := f.codec.Object(entry)
	if err != nil {
		return nil, fmt.Errorf("service account %s: %w", key, err)
	}
	return obj.(*corev1.ServiceAccount), nil
}

// await returns the entry of a key that did not exist at a revision, if it appears within a moment.
func (f *accountFinder) await(ctx context.Context, key string, revision int64) (*dynamicstorage.Entry, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, accountWait, dynamicstorage.ErrNotFound)
	defer cancel()
	watcher, err := f.entries.WatchKeys(ctx, key, revision)
	if err != nil {
		return nil, err
	}
	defer watcher.Close()
	for {
		events, err := watcher.Next(ctx)
		if err != nil {
			return nil, err
		}
		if last := events[len(events)-1].Entry; last != nil {
			return last, nil
		}
	}
}
