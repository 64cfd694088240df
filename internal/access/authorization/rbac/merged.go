package rbac

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// merged is the rules of all roles that a user has in a namespace, or everywhere. It is immutable.
type merged struct {
	// grants are in order. The positions of the rules are those of their grants.
	grants []grant
	rules  ruleSet
	// missing: a grant is of a role that does not exist.
	missing bool
}

// merge makes the merged rules of a user.
func (s *state) merge(who *identity, namespace string) *merged {
	m := &merged{grants: s.all(who, namespace)}
	added := map[*role]struct{}{} // a role that is bound again adds nothing
	for at, g := range m.grants {
		role := g.binding.slot.role.Load()
		if role == nil {
			m.missing = true
			continue
		}
		if _, again := added[role]; again {
			continue
		}
		added[role] = struct{}{}
		for n := range role.rules {
			m.rules.add(&role.rules[n], at)
		}
	}
	return m
}

// maxMerged bounds the permissions and grants in the cache of a state: some 40 MiB.
const maxMerged = 1 << 18

// mergedCache keeps merged rules as long as a state is current. Merging the rules of a user in a thousand groups takes
// longer than many decisions.
type mergedCache struct {
	users sync.Map // of *mergedUser by the hash of an identity
	size  atomic.Int64
}

// mergedUser is the merged rules of one user, by namespace.
type mergedUser struct {
	identity
	scopes sync.Map // of *merged
}

// of returns the merged rules of a user in s, whose cache c is.
func (c *mergedCache) of(s *state, who *identity, namespace string) *merged {
	u := c.user(who)
	if found, ok := u.scopes.Load(namespace); ok {
		return found.(*merged)
	}
	m := s.merge(who, namespace)
	if c.size.Add(int64(1+len(m.grants)+m.rules.size)) > maxMerged {
		c.users.Clear() // the users that still make requests return
		c.size.Store(0)
	}
	u.scopes.Store(strings.Clone(namespace), m)
	return m
}

// user returns the cache of one user. Of two users with the same hash, only the last is kept.
func (c *mergedCache) user(who *identity) *mergedUser {
	hash := who.hash()
	if found, ok := c.users.Load(hash); ok {
		if u := found.(*mergedUser); u.name == who.name && slices.Equal(u.groups, who.groups) {
			return u
		}
	}
	u := &mergedUser{identity: identity{who.name, slices.Clone(who.groups)}}
	c.users.Store(hash, u)
	return u
}

// hash is for a table; the caller compares identities.
func (who *identity) hash() uint64 {
	h := maphash.String(seed, who.name)
	for _, group := range who.groups {
		h = bits.RotateLeft64(h, 5) ^ maphash.String(seed, group)
	}
	return h
}
