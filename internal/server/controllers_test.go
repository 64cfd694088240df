package server

import (
	"testing"

	"github.com/crd-server/crd-server/internal/server/builtins"
)

// TestRunsController checks that the first element that is about a controller decides, and that others follow "*".
func TestRunsController(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		flag                 string
		aggregates, collects bool
	}{
		{"*", true, true},
		{"*,-" + builtins.RoleController, false, true},
		{"-" + builtins.RoleController + ",*", false, true},
		{builtins.GarbageCollector, false, true},
		{builtins.RoleController + ",-" + builtins.RoleController, true, false},
	} {
		o := NewOptions()
		if err := o.Parse([]string{"--controllers=" + test.flag}); err != nil {
			t.Fatal(err)
		}
		if errs := o.Resources.validate(); len(errs) > 0 {
			t.Errorf("%s: %v", test.flag, errs)
		}
		if o.Resources.runsController(builtins.RoleController) != test.aggregates ||
			o.Resources.runsController(builtins.GarbageCollector) != test.collects {
			t.Errorf("%s selects other controllers than kube-controller-manager", test.flag)
		}
	}
	o := NewOptions()
	o.Resources.Controllers = []string{"*", "-nonsense"}
	if errs := o.Resources.validate(); len(errs) != 1 {
		t.Errorf("an unknown name: %v", errs)
	}
}
