package builtins

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crd-server/crd-server/internal/access/admission/plugins/serviceaccount"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// accountWait bounds how long a new pod waits for the account that a controller gives to each namespace. It is the mean
// of kube-apiserver's ten lookups.
const accountWait = 1350 * time.Millisecond

// accountFinder finds the service accounts of new pods.
type accountFinder struct {
	*reader[*corev1.ServiceAccount]
}

// findAccounts returns a function that finds service accounts; nil if there are none.
func findAccounts(c *Config) serviceaccount.Accounts {
	f := accountFinder{newReader[*corev1.ServiceAccount](c, corev1.Resource("serviceaccounts"))}
	if f.entries == nil {
		return nil
	}
	return f.find
}

// find returns an account.
func (f accountFinder) find(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, error) {
	key := namespace + "/" + name
	entry, revision, err := f.entries.Get(ctx, key, newest)
	if errors.Is(err, dynamicstorage.ErrNotFound) && name == serviceaccount.DefaultAccount {
		entry, err = f.await(ctx, key, revision)
	}
	switch {
	case errors.Is(err, dynamicstorage.ErrNotFound), errors.Is(err, dynamicstorage.ErrInvalidKey):
		return nil, apierrors.NewNotFound(corev1.Resource("serviceaccount"), name) // the singular is kube-apiserver's
	case err != nil:
		return nil, err
	}
	return f.object(entry)
}

// await returns the entry of a key that did not exist at a revision, if it appears within a moment.
func (f accountFinder) await(ctx context.Context, key string, revision int64) (*dynamicstorage.Entry, error) {
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
