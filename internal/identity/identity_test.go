package identity

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestOf compares the identity with one that kube-apiserver 1.37.2 has.
func TestOf(t *testing.T) {
	t.Parallel()
	if got := Of("vm"); got != "apiserver-wlv32tlttr4jl3gtroqexyxapa" {
		t.Errorf("got %s", got)
	}
}

func TestExpired(t *testing.T) {
	t.Parallel()
	now := time.Now()
	spec := func(renewed time.Time, seconds int32) coordinationv1.LeaseSpec {
		return coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: renewed}, LeaseDurationSeconds: &seconds}
	}
	for name, test := range map[string]struct {
		spec coordinationv1.LeaseSpec
		want bool
	}{
		"renewed":       {spec(now, 10), false},
		"abandoned":     {spec(now.Add(-11*time.Second), 10), true},
		"never renewed": {coordinationv1.LeaseSpec{LeaseDurationSeconds: new(int32)}, true},
		"no duration":   {coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: now}}, true},
	} {
		if got := expired(&coordinationv1.Lease{Spec: test.spec}, now); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
