package rbac

import (
	"hash/maphash"
	"maps"
)

// shardCount makes shards of some twenty holders with 10,000 bindings.
const shardCount = 512

var seed = maphash.MakeSeed()

// shards are the grants of all holders. A change copies the table of shards and one shard.
type shards [shardCount]map[holder][]grant

// of returns the grants of a holder, in order. The caller must not modify them.
func (s *shards) of(h holder) []grant { return s[shardOf(h.name)][h] }

func shardOf(name string) uint64 { return maphash.String(seed, name) % shardCount }

// draft is a changed copy of shards, which is not published yet.
type draft struct {
	shards *shards
	// copied are the shards that belong to the draft alone.
	copied [shardCount]bool
}

func newDraft(s *shards) *draft {
	d := &draft{shards: &shards{}}
	*d.shards = *s
	return d
}

// set replaces the grants of a holder; none remove it.
func (d *draft) set(h holder, grants []grant) {
	n := shardOf(h.name)
	if !d.copied[n] {
		d.shards[n], d.copied[n] = maps.Clone(d.shards[n]), true
	}
	if len(grants) == 0 {
		delete(d.shards[n], h)
		return
	}
	if d.shards[n] == nil {
		d.shards[n] = map[holder][]grant{}
	}
	d.shards[n][h] = grants
}
