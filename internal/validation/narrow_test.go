package validation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// specRules read fields in all the ways there are.
var specRules = []string{
	"self.color != 'red'", "has(self.color) && self.color == 'red'", "!has(self.limits) || has(self.limits.cpu) && self.limits.cpu != '1m'",
	"self.ports.all(p, p.number > 1 || p.protocol == 'TCP')", "self == oldSelf", "oldSelf.color == self.color && oldSelf.name != 'abc'",
	"self.template.kind != 'Pod' && self.template.metadata.name == 'p'", "self.labels.exists(k, self.labels[k] == 'b')", "self.limits == oldSelf.limits",
	"self.?color.orValue('x') == 'y'", "[self].all(s, s.replicas < 2)", "size(self.tags) > size(oldSelf.tags)", "self.bag.known.a == 'b'", "true", "!has(self.never)",
	"self.name.size() < 3 || self.maybe == 'x'",
}

var rootRules = []string{
	"self.metadata.name == 'w'", "self.kind == 'Widget' && self.spec.color == 'red'", "!has(self.status) || self.status.replicas == self.spec.replicas",
	"self.status.conditions.exists(c, c.type == 'A')", "self.spec == oldSelf.spec",
}

// TestNarrow holds that rules come to the same with schemas that are narrowed to what they read.
func TestNarrow(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 50
	}
	random := rand.New(rand.NewPCG(17, 18))
	structural, err := New(readCRD(t, "widgets")).Version("v1").Structural()
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for range rounds {
		s := structural.DeepCopy()
		s.XValidations = chooseRules(random, rootRules)
		spec := s.Properties["spec"]
		spec.XValidations = chooseRules(random, specRules)
		s.Properties["spec"] = spec
		whole, narrowed := cel.NewValidator(s, true, celconfig.PerCallLimit), cel.NewValidator(s, true, celconfig.PerCallLimit)
		narrow(narrowed, true)
		for range 5 {
			old := randomObject(t, random, "Widget", "v1").Object
			obj := mutate(random, randomObject(t, random, "Widget", "v1"), 2).Object
			run := func(v *cel.Validator) ([]string, int64) {
				errs, left := v.Validate(context.Background(), nil, s, obj, any(old), celconfig.RuntimeCELCostBudget)
				found := texts(errs)
				slices.Sort(found)
				return found, left
			}
			want, wantLeft := run(whole)
			got, left := run(narrowed)
			if strings.Contains(fmt.Sprint(want, got), "invalid data") {
				continue // comparing what is not of its type fails now and then
			}
			if diff := cmp.Diff(want, got); diff != "" || left != wantLeft {
				t.Fatalf("%v\n%v\n%v\nleft %d, should be %d (-whole +narrowed):\n%s", s.XValidations, spec.XValidations, obj, left, wantLeft, diff)
			}
			failed += len(want)
		}
	}
	if failed < rounds {
		t.Errorf("only %d errors to compare", failed)
	}
}

func chooseRules(random *rand.Rand, from []string) (rules apiextensionsv1.ValidationRules) {
	for range 1 + random.IntN(3) {
		rules = append(rules, apiextensionsv1.ValidationRule{Rule: from[random.IntN(len(from))], MessageExpression: "'because'"})
	}
	return rules
}

func TestUsedBy(t *testing.T) {
	whole := fieldUse(nil)
	for _, tc := range []struct {
		rules []string
		want  fieldUse
		known bool
	}{
		{[]string{"self.a.b < self.c"}, fieldUse{"a": {"b": whole}, "c": whole}, true},
		{[]string{"self.a.b < 1", "oldSelf.a.c < 1", "self.__if__"}, fieldUse{"a": {"b": whole, "c": whole}, "if": whole}, true},
		{[]string{"self.a.b < 1", "self.a == self.c"}, fieldUse{"a": whole, "c": whole}, true},
		{[]string{"self.a == self.c", "self.a.b < 1"}, fieldUse{"a": whole, "c": whole}, true},
		{[]string{"has(self.a.b)"}, fieldUse{"a": {"b": whole}}, true},
		{[]string{"self.a.all(x, x.y)"}, fieldUse{"a": whole}, true},
		{[]string{"self.a", "self == oldSelf"}, nil, false},
		{[]string{"self.?a.hasValue()"}, nil, false},
		{[]string{"self."}, nil, false},
	} {
		s := &structuralschema.Structural{Properties: map[string]structuralschema.Structural{"a": {}}}
		for _, rule := range tc.rules {
			s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{Rule: rule})
		}
		got, known := usedBy(s)
		if diff := cmp.Diff(tc.want, got); diff != "" || known != tc.known {
			t.Errorf("%q: %t (-want +got):\n%s", tc.rules, known, diff)
		}
	}
}
