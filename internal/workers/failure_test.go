package workers

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestRefused checks which failures of controllers are what clients have done.
func TestRefused(t *testing.T) {
	t.Parallel()
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New("denied by a policy"))
	webhook := apierrors.NewInternalError(errors.New(`failed calling webhook "a"`))
	broken := errors.New("etcd is broken")
	for _, test := range []struct {
		err  error
		want bool
	}{
		{denied, true},
		{webhook, true},
		{Waiting(broken), true},
		{fmt.Errorf("create: %w", denied), true},
		{errors.Join(fmt.Errorf("create: %w", denied), webhook), true},
		{fmt.Errorf("sync: %w", errors.Join(denied, broken)), false},
		{broken, false},
		{apierrors.NewInternalError(broken), false},
		{apierrors.NewServiceUnavailable("etcd"), false},
	} {
		if got := refused(test.err); got != test.want {
			t.Errorf("%v: got %v", test.err, got)
		}
	}
}
