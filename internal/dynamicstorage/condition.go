package dynamicstorage

import (
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// ErrCondition: a condition of an update did not hold when it was to be committed. Nothing was written.
var ErrCondition = errors.New("condition does not hold")

// Condition is something beside the entry itself that must be true in etcd at the moment a write is committed.
type Condition struct{ compare clientv3.Cmp }

// Still holds while there is an entry at the key that was created at a revision: it may have been changed since, but
// neither deleted nor created anew.
func (r *Resource) Still(key string, created int64) Condition {
	return Condition{clientv3.Compare(clientv3.CreateRevision(r.fullKey(key)), "=", created)}
}

// Empty holds while the resource has no entries. etcd compares every key of a range, and without any a key that does not
// exist, of which all revisions are 0.
func (r *Resource) Empty() Condition {
	return Condition{clientv3.Compare(clientv3.CreateRevision(r.prefix), "=", 0).WithPrefix()}
}
