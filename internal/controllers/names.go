package controllers

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/crd-server/crd-server/internal/crds"
)

// claims counts who holds a name in one API group. Plurals, singulars and short names share one space, kinds and
// list kinds another.
type claims struct {
	resources, kinds map[string]int
}

// newClaims has room for those of so many CRDs.
func newClaims(definitions int) *claims {
	return &claims{resources: make(map[string]int, 2*definitions), kinds: make(map[string]int, 2*definitions)}
}

// sameNames says whether two CRDs want, or have, the same names. Every CRD of a group is asked when one of them is created.
func sameNames(a, b *apiextensionsv1.CustomResourceDefinitionNames) bool {
	return a.Plural == b.Plural && a.Singular == b.Singular && a.Kind == b.Kind && a.ListKind == b.ListKind &&
		slices.Equal(a.ShortNames, b.ShortNames) && slices.Equal(a.Categories, b.Categories)
}

// claimed returns the names that are not for a CRD to have: those the other CRDs of its group hold, and those that
// would go to CRDs which have been waiting longer. The second makes two CRDs that are settled at the same time, here or on
// other replicas, come to the same result, whoever writes first: a CRD is settled knowing everything older than itself, and
// its write fails if it is not the same any more, so no name is granted twice.
func claimed(group []*crds.Record, name string, revision int64) *claims {
	c := newClaims(len(group))
	var older []*crds.Record
	for _, other := range group {
		if other.Name == name {
			continue
		}
		c.add(&other.AcceptedNames)
		if other.Revision < revision && waiting(other) {
			older = append(older, other)
		}
	}
	slices.SortFunc(older, func(a, b *crds.Record) int { return cmp.Compare(a.Revision, b.Revision) })
	for _, other := range older {
		c.accept(&other.Names, other.AcceptedNames)
	}
	return c
}

func (c *claims) add(names *apiextensionsv1.CustomResourceDefinitionNames)    { c.count(names, 1) }
func (c *claims) remove(names *apiextensionsv1.CustomResourceDefinitionNames) { c.count(names, -1) }

func (c *claims) count(names *apiextensionsv1.CustomResourceDefinitionNames, by int) {
	c.resources[names.Plural] += by
	c.resources[names.Singular] += by
	for _, name := range names.ShortNames {
		c.resources[name] += by
	}
	c.kinds[names.Kind] += by
	c.kinds[names.ListKind] += by
}

// conflict says why names were not accepted.
type conflict struct {
	reason, message string
}

// accept grants as many of the requested names as are free. The names accepted before must be counted in c, and
// those accepted now are afterwards: like anybody else's, a name of the CRD itself is not free before it has been
// given up, which is why this goes on until nothing changes. That ends: a name once granted stays granted.
func (c *claims) accept(requested *apiextensionsv1.CustomResourceDefinitionNames, accepted apiextensionsv1.CustomResourceDefinitionNames) (apiextensionsv1.CustomResourceDefinitionNames, *conflict) {
	for {
		next, conflict := c.grant(requested, accepted)
		if reflect.DeepEqual(next, accepted) {
			return next, conflict
		}
		c.remove(&accepted)
		c.add(&next)
		accepted = next
	}
}

// grant looks at each name in turn. Of several conflicts the last one is told.
func (c *claims) grant(requested *apiextensionsv1.CustomResourceDefinitionNames, accepted apiextensionsv1.CustomResourceDefinitionNames) (apiextensionsv1.CustomResourceDefinitionNames, *conflict) {
	var found *conflict
	take := func(reason, want string, have *string, taken map[string]int) {
		if err := free(want, *have, taken); err != nil {
			found = &conflict{reason: reason, message: err.Error()}
			return
		}
		*have = want
	}
	next := accepted
	take("PluralConflict", requested.Plural, &next.Plural, c.resources)
	take("SingularConflict", requested.Singular, &next.Singular, c.resources)
	if err := c.freeShortNames(requested.ShortNames, accepted.ShortNames); err != nil {
		found = &conflict{reason: "ShortNamesConflict", message: err.Error()}
	} else {
		next.ShortNames = requested.ShortNames
	}
	take("KindConflict", requested.Kind, &next.Kind, c.kinds)
	take("ListKindConflict", requested.ListKind, &next.ListKind, c.kinds)
	next.Categories = requested.Categories
	return next, found
}

// freeShortNames wants all short names or none.
func (c *claims) freeShortNames(requested, accepted []string) error {
	var errs []error
	for _, name := range requested {
		if !slices.Contains(accepted, name) {
			errs = append(errs, free(name, "", c.resources))
		}
	}
	return utilerrors.NewAggregate(errs)
}

func free(requested, accepted string, taken map[string]int) error {
	if requested == accepted || taken[requested] <= 0 {
		return nil
	}
	return fmt.Errorf("%q is already in use", requested)
}
