package dynamicstorage

import (
	"context"
	"fmt"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Creation is an entry to create if its key is free.
type Creation struct {
	Resource *Resource
	// Key is the key of the entry, "name" or "namespace/name".
	Key string
	// Value returns the bytes to store. It is only called if the key is free.
	Value func() ([]byte, error)
}

// maxTransaction is the number of operations that etcd accepts in a transaction: the default of its --max-txn-ops.
const maxTransaction = 128

// CreateMissing creates the entries whose keys are free, up to 128 in a transaction, and leaves the others as they are.
// If all exist, it only reads. Other servers may create the same entries at the same time.
//
// The entries of a transaction have the same revision. A client that resumes its watch from the revision of one of them
// does not get the others, so CreateMissing is for entries that exist before clients watch.
func (s *Store) CreateMissing(ctx context.Context, creations []Creation) error {
	for _, c := range creations {
		if !validKey(c.Key) {
			return fmt.Errorf("%w: %q", ErrInvalidKey, c.Key)
		}
	}
	for some := range slices.Chunk(creations, maxTransaction) {
		for created := false; !created; { // until no other server creates one of them between the read and the write
			missing, err := s.missing(ctx, some)
			if err != nil {
				return err
			}
			if created, err = s.createAll(ctx, missing); err != nil {
				return err
			}
		}
	}
	return nil
}

// missing returns the creations whose keys are free.
func (s *Store) missing(ctx context.Context, creations []Creation) (missing []Creation, err error) {
	reads := make([]clientv3.Op, len(creations))
	for n, c := range creations {
		reads[n] = clientv3.OpGet(c.Resource.fullKey(c.Key), clientv3.WithCountOnly())
	}
	resp, err := request(ctx, s, "reading from etcd", func(ctx context.Context) (*clientv3.TxnResponse, error) {
		return s.client.Txn(ctx).Then(reads...).Commit()
	})
	if err != nil {
		return nil, err
	}
	for n, c := range creations {
		if resp.Responses[n].GetResponseRange().Count == 0 {
			missing = append(missing, c)
		}
	}
	return missing, nil
}

// createAll stores all creations, or none of them if a key is not free.
func (s *Store) createAll(ctx context.Context, creations []Creation) (created bool, err error) {
	if len(creations) == 0 {
		return true, nil
	}
	absent, puts := make([]clientv3.Cmp, len(creations)), make([]clientv3.Op, len(creations))
	for n, c := range creations {
		key := c.Resource.fullKey(c.Key)
		value, err := c.Value()
		if err == nil && s.options.Transform != nil {
			value, err = s.options.Transform.ToStorage(ctx, value, key)
		}
		if err != nil {
			return false, fmt.Errorf("value of %s cannot be stored: %w", key, err)
		}
		absent[n] = clientv3.Compare(clientv3.ModRevision(key), "=", 0)
		puts[n] = clientv3.OpPut(key, string(value))
	}
	resp, err := s.transact(ctx, absent, puts)
	if err != nil {
		return false, err
	}
	for _, c := range creations {
		if resp.Succeeded {
			c.Resource.written(ctx, resp.Header.Revision)
		}
	}
	return resp.Succeeded, nil
}
