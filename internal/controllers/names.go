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

// claims are the names of one API group that somebody wants, and how many have them.
type claims struct{ crds.Names }

// namesTable is what claimed looks at.
type namesTable interface {
	Get(name string) (*crds.Record, bool)
	Waiting(group string) []*crds.Record
	Held(group string, wanted ...*apiextensionsv1.CustomResourceDefinitionNames) crds.Names
}

// claimed returns which of the names that a CRD wants, as of a revision, are not for it to have: those the other CRDs of its group hold, and
// those that would go to CRDs which have been waiting longer. The second makes two CRDs that are settled at the same time, here or on
// other replicas, come to the same result, whoever writes first: a CRD is settled knowing everything older than itself, and
// its write fails if it is not the same any more, so no name is granted twice. What is looked up later than the CRDs that wait may be newer: a
// name that is held then is either granted to one of these, or given up by one, which has the CRD examined again.
func claimed(table namesTable, crd *apiextensionsv1.CustomResourceDefinition, revision int64) *claims {
	wanted := []*apiextensionsv1.CustomResourceDefinitionNames{&crd.Spec.Names}
	var older []*crds.Record
	for _, other := range table.Waiting(crd.Spec.Group) {
		if other.Name != crd.Name && other.Revision < revision {
			older = append(older, other)
			wanted = append(wanted, &other.Names)
		}
	}
	c := &claims{table.Held(crd.Spec.Group, wanted...)}
	if self, ok := table.Get(crd.Name); ok {
		c.Count(&self.AcceptedNames, -1)
	}
	slices.SortFunc(older, func(a, b *crds.Record) int { return cmp.Compare(a.Revision, b.Revision) })
	for _, other := range older {
		c.accept(&other.Names, other.AcceptedNames)
	}
	return c
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
		c.Count(&accepted, -1)
		c.Count(&next, 1)
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
	take("PluralConflict", requested.Plural, &next.Plural, c.Resources)
	take("SingularConflict", requested.Singular, &next.Singular, c.Resources)
	if err := c.freeShortNames(requested.ShortNames, accepted.ShortNames); err != nil {
		found = &conflict{reason: "ShortNamesConflict", message: err.Error()}
	} else {
		next.ShortNames = requested.ShortNames
	}
	take("KindConflict", requested.Kind, &next.Kind, c.Kinds)
	take("ListKindConflict", requested.ListKind, &next.ListKind, c.Kinds)
	next.Categories = requested.Categories
	return next, found
}

// freeShortNames wants all short names or none.
func (c *claims) freeShortNames(requested, accepted []string) error {
	var errs []error
	for _, name := range requested {
		if !slices.Contains(accepted, name) {
			errs = append(errs, free(name, "", c.Resources))
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
