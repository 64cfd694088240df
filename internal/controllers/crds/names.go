package crds

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/crd-server/crd-server/internal/crds"
)

// claims counts how many CRDs of one API group hold each name. Plurals, singulars and short names share one name space,
// kinds and list kinds another.
type claims struct {
	resources, kinds map[string]int
}

func newClaims() *claims { return &claims{resources: map[string]int{}, kinds: map[string]int{}} }

// count adds by to the number of holders of each name: 1 for a CRD that holds the names, -1 for one that gives them up.
func (c *claims) count(names *apiextensionsv1.CustomResourceDefinitionNames, by int) {
	c.resources[names.Plural] += by
	c.resources[names.Singular] += by
	for _, name := range names.ShortNames {
		c.resources[name] += by
	}
	c.kinds[names.Kind] += by
	c.kinds[names.ListKind] += by
}

// groupLister lists the CRDs of a group at one point in time, as crds.Table does.
type groupLister interface {
	Group(name string) iter.Seq[*crds.Record]
}

// claimed returns the names that crd, as of a revision, cannot have: those that the other CRDs of its group hold, and
// those that go to CRDs which have waited longer. Because of the latter, two CRDs that are reconciled at the same time,
// on this or on different replicas, get the same result whichever is written first: each is reconciled with knowledge
// of every older CRD, and its write fails if it has changed in the meantime. So no name is granted twice.
func claimed(lister groupLister, crd *apiextensionsv1.CustomResourceDefinition, revision int64) *claims {
	c := newClaims()
	var older []*crds.Record
	for other := range lister.Group(crd.Spec.Group) {
		if other.Name == crd.Name {
			continue
		}
		c.count(&other.AcceptedNames, 1)
		if other.WaitsForNames() && other.Revision < revision {
			older = append(older, other)
		}
	}
	slices.SortFunc(older, func(a, b *crds.Record) int { return cmp.Compare(a.Revision, b.Revision) })
	for _, other := range older {
		c.accept(&other.Names, other.AcceptedNames)
	}
	return c
}

// conflict is the reason why a name was not accepted.
type conflict struct {
	reason, message string
}

// accept grants as many of the requested names as are free. On entry, c counts the names accepted before; on return,
// those accepted now. A name that the CRD itself holds is not free until the CRD has given it up, so accept repeats
// until nothing changes. This terminates because a granted name stays granted.
func (c *claims) accept(
	requested *apiextensionsv1.CustomResourceDefinitionNames, accepted apiextensionsv1.CustomResourceDefinitionNames,
) (apiextensionsv1.CustomResourceDefinitionNames, *conflict) {
	for {
		next, conflict := c.grant(requested, accepted)
		if reflect.DeepEqual(next, accepted) {
			return next, conflict
		}
		c.count(&accepted, -1)
		c.count(&next, 1)
		accepted = next
	}
}

// grant checks the names one after the other. Of several conflicts it returns the last one, as upstream does.
func (c *claims) grant(
	requested *apiextensionsv1.CustomResourceDefinitionNames, accepted apiextensionsv1.CustomResourceDefinitionNames,
) (apiextensionsv1.CustomResourceDefinitionNames, *conflict) {
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

// freeShortNames returns an error unless all requested short names are free: they are granted together or not at all.
func (c *claims) freeShortNames(requested, accepted []string) error {
	held := sets.New(accepted...)
	var errs []error
	for _, name := range requested {
		if !held.Has(name) {
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
