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

// claims counts who holds the names in one API group that somebody asks for; others are nobody's business. Plurals, singulars and short names
// share one space, kinds and list kinds another.
type claims struct {
	resources, kinds map[string]int
}

// newClaims returns claims to what is asked for, held by nobody.
func newClaims(asked ...*apiextensionsv1.CustomResourceDefinitionNames) *claims {
	c := &claims{resources: map[string]int{}, kinds: map[string]int{}}
	for _, names := range asked {
		c.resources[names.Plural] = 0
		c.resources[names.Singular] = 0
		for _, name := range names.ShortNames {
			c.resources[name] = 0
		}
		c.kinds[names.Kind] = 0
		c.kinds[names.ListKind] = 0
	}
	return c
}

// sameNames says whether two CRDs want, or have, the same names. Every CRD of a group is asked when one of them is created.
func sameNames(a, b *apiextensionsv1.CustomResourceDefinitionNames) bool {
	return a.Plural == b.Plural && a.Singular == b.Singular && a.Kind == b.Kind && a.ListKind == b.ListKind &&
		slices.Equal(a.ShortNames, b.ShortNames) && slices.Equal(a.Categories, b.Categories)
}

// claimed returns which of the names that a CRD asks for, as of a revision, are not for it to have: those the other CRDs of its group hold, and
// those that would go to CRDs which have been waiting longer. The second makes two CRDs that are settled at the same time, here or on
// other replicas, come to the same result, whoever writes first: a CRD is settled knowing everything older than itself, and
// its write fails if it is not the same any more, so no name is granted twice.
func claimed(group []*crds.Record, crd *apiextensionsv1.CustomResourceDefinition, revision int64) *claims {
	asked := []*apiextensionsv1.CustomResourceDefinitionNames{&crd.Spec.Names}
	var older []*crds.Record
	for _, other := range group {
		if other.Name != crd.Name && other.Revision < revision && waiting(other) {
			older = append(older, other)
			asked = append(asked, &other.Names)
		}
	}
	c := newClaims(asked...)
	for _, other := range group {
		if other.Name != crd.Name {
			c.add(&other.AcceptedNames)
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
	count := func(held map[string]int, name string) {
		if n, asked := held[name]; asked {
			held[name] = n + by
		}
	}
	count(c.resources, names.Plural)
	count(c.resources, names.Singular)
	for _, name := range names.ShortNames {
		count(c.resources, name)
	}
	count(c.kinds, names.Kind)
	count(c.kinds, names.ListKind)
}

// conflict says why names were not accepted.
type conflict struct {
	reason, message string
}

// accept grants as many of the requested names as are free. They must have been asked for, the names accepted before must be counted in c, and
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
