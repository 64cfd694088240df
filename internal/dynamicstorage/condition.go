package dynamicstorage

import (
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// ErrCondition: a condition of an update did not hold at the commit. Nothing was written.
var ErrCondition = errors.New("condition does not hold")

// Condition must hold in etcd when a write is committed, in addition to the guard by revision.
type Condition struct{ compare clientv3.Cmp }

// Still holds while the key has the entry that was created at a revision. The entry may have been changed since, but
// not deleted.
func (r *Resource) Still(key string, created int64) Condition {
	return Condition{clientv3.Compare(clientv3.CreateRevision(r.fullKey(key)), "=", created)}
}

// Unchanged holds while the entry of a key is the one of a revision: it was neither changed nor deleted since. With
// revision 0 it holds while there is no entry.
func (r *Resource) Unchanged(key string, revision int64) Condition {
	return Condition{clientv3.Compare(clientv3.ModRevision(r.fullKey(key)), "=", revision)}
}

// Empty holds while the resource has no entries. etcd applies a comparison to every key of a range. If there is none,
// it compares a key that does not exist, whose revisions are 0.
func (r *Resource) Empty() Condition {
	return Condition{clientv3.Compare(clientv3.CreateRevision(r.prefix), "=", 0).WithPrefix()}
}
