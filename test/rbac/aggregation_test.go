package rbac

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// plainRoles are selected, and aggregatedRoles select those before them: plain ones, and aggregated ones.
	plainRoles      = 30
	aggregatedRoles = 15
	// settling bounds how long the servers may need to agree.
	settling = 20 * time.Second
	// stable is how often in a row they must agree.
	stable = 10
)

// TestDifferentialAggregation compares the rules of random aggregated ClusterRoles, and again after their parts have
// changed.
func TestDifferentialAggregation(t *testing.T) {
	if !*upstream {
		t.Skip("without -upstream")
	}
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", *seed)
	p, w := pair{t, startTheirs(t), startOurs(t)}, newWorld(*seed, plainRoles)
	var roles []object
	for n := range plainRoles + aggregatedRoles {
		roles = append(roles, w.part(n))
	}
	p.write(create, roles)
	p.compareAggregated()
	for range rounds {
		for _, n := range w.Perm(plainRoles + aggregatedRoles)[:10] {
			op := replace
			// The apply of kube-controller-manager may create an aggregated role again that was just deleted.
			if n < plainRoles && w.IntN(3) == 0 {
				op = remove
			}
			p.write(op, []object{w.part(n)})
		}
		p.compareAggregated()
	}
}

// part returns a ClusterRole with labels. The later ones have the rules of those before them that have some labels.
func (w world) part(number int) object {
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("part%d", number)}}
	role.Labels = map[string]string{"number": fmt.Sprint(number), "team": one(w, "a", "b", "c"), "tier": one(w, "x", "y")}
	if number < plainRoles {
		role.Rules = w.newRules(true)
		return object{clusterRole: role}
	}
	role.AggregationRule = &rbacv1.AggregationRule{}
	for range 1 + w.IntN(2) {
		var before []string
		for n := range number {
			if w.IntN(4) > 0 {
				before = append(before, fmt.Sprint(n))
			}
		}
		selector := metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "number", Operator: "In", Values: before}},
		}
		if w.IntN(3) > 0 {
			selector.MatchLabels = map[string]string{"team": one(w, "a", "b", "c")}
		}
		if w.IntN(3) == 0 {
			other := metav1.LabelSelectorRequirement{Key: "tier", Operator: "NotIn", Values: []string{"x"}}
			selector.MatchExpressions = append(selector.MatchExpressions, other)
		}
		role.AggregationRule.ClusterRoleSelectors = append(role.AggregationRule.ClusterRoleSelectors, selector)
	}
	return object{clusterRole: role}
}

// compareAggregated waits until all ClusterRoles are the same and stay so, because the servers aggregate after they
// have answered. It reports those that stay different.
func (p pair) compareAggregated() {
	p.Helper()
	var different []string
	same := 0
	err := wait.PollUntilContextTimeout(p.Context(), 100*time.Millisecond, settling, true,
		func(context.Context) (bool, error) {
			different = nil
			theirs, ours := p.theirs.roles(p.T), p.ours.roles(p.T)
			for n := range plainRoles + aggregatedRoles {
				name := fmt.Sprintf("part%d", n)
				if want, got := shown(theirs[name]), shown(ours[name]); want != got {
					different = append(different, fmt.Sprintf("%s\nkube-apiserver: %s\ncrd-server:     %s", name, want, got))
				}
			}
			if same++; len(different) > 0 {
				same = 0
			}
			return same == stable, nil
		})
	if err != nil {
		p.Errorf("%d roles differ: %v\n%s", len(different), err, slices.Concat(different, []string{""})[0])
	}
}
