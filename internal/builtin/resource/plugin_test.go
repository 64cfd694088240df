package resource_test

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

// TestPlugins checks which plugins an endpoint has, and in which order.
func TestPlugins(t *testing.T) {
	t.Parallel()
	pods, nodes := corev1.Resource("pods"), corev1.Resource("nodes")
	all := resource.Plugins{
		{Name: "c", Resource: pods}, {Name: "a", Resource: pods, Subresource: "resize"},
		{Name: "b", Resource: nodes}, {Name: "a", Resource: pods},
	}
	for _, test := range []struct {
		found resource.Plugins
		want  []string
	}{
		{all.For(pods, ""), []string{"c", "a"}},
		{all.For(pods, "resize"), []string{"a"}},
		{all.For(nodes, "status"), nil},
	} {
		var names []string
		for _, plugin := range test.found {
			names = append(names, plugin.Name)
		}
		if !slices.Equal(names, test.want) {
			t.Errorf("plugins %v, want %v", names, test.want)
		}
	}
}

// TestRules checks that plugins get the errors of the strategy, and decide about all of them.
func TestRules(t *testing.T) {
	t.Parallel()
	path := field.NewPath("spec")
	strategy := resource.Typed[*corev1.Pod]{
		Check:       func(*corev1.Pod) field.ErrorList { return field.ErrorList{field.Required(path, "new")} },
		CheckUpdate: func(_, _ *corev1.Pod) field.ErrorList { return nil },
	}
	first := func(_ context.Context, _, _ runtime.Object, errs field.ErrorList) field.ErrorList {
		return append(field.ErrorList{field.Required(path, "first")}, errs...)
	}
	unlessInvalid := func(_ context.Context, _, old runtime.Object, errs field.ErrorList) field.ErrorList {
		if len(errs) > 0 || old == nil {
			return errs
		}
		return field.ErrorList{field.Required(path, "valid")}
	}
	rules := resource.Plugins{{Name: "none"}, {Check: unlessInvalid}, {Check: first}}.Rules(strategy)
	details := func(errs field.ErrorList) (all []string) {
		for _, err := range errs {
			all = append(all, err.Detail)
		}
		return all
	}
	pod := &corev1.Pod{}
	if got := details(rules.Validate(t.Context(), pod)); !slices.Equal(got, []string{"first", "new"}) {
		t.Errorf("errors of a new object: %v", got)
	}
	if got := details(rules.ValidateUpdate(t.Context(), pod, pod)); !slices.Equal(got, []string{"first", "valid"}) {
		t.Errorf("errors of an update: %v", got)
	}
	if _, same := (resource.Plugins{{Name: "none"}}).Rules(strategy).(resource.Typed[*corev1.Pod]); !same {
		t.Error("a plugin without Check changes the strategy")
	}
}
