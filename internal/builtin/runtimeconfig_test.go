package builtin

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/crd-server/crd-server/internal/builtin/resource"
)

func TestEnabled(t *testing.T) {
	t.Parallel()
	var definitions []*resource.Definition
	for _, gvr := range []schema.GroupVersionResource{
		{Version: "v1", Resource: "pods"},
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "apps", Version: "v1", Resource: "statefulsets"},
		{Group: "storage.k8s.io", Version: "v1alpha1", Resource: "alphas"},
		{Group: "storage.k8s.io", Version: "v1beta1", Resource: "betas"},
	} {
		definitions = append(definitions, &resource.Definition{GroupVersion: gvr.GroupVersion(), Plural: gvr.Resource})
	}
	for config, want := range map[string]string{
		"":                                       "pods deployments statefulsets",
		"api/all=true":                           "pods deployments statefulsets alphas betas",
		"api/all=false,v1=true":                  "pods",
		"api/all=false,api/v1=true":              "pods",
		"api/all=false,/v1=true":                 "pods",
		"api/beta=true":                          "pods deployments statefulsets betas",
		"api/alpha=true":                         "pods deployments statefulsets alphas",
		"api/ga=false,api/beta=true":             "betas",
		"api/legacy=true":                        "pods deployments statefulsets",
		"apps/v1=false":                          "pods",
		"apps/v1/deployments=false":              "pods statefulsets",
		"apps/v1=false,apps/v1/deployments=true": "pods deployments",
		"storage.k8s.io/v1beta1":                 "pods deployments statefulsets betas",
		"storage.k8s.io/v1beta1/betas=true":      "pods deployments statefulsets betas",
		"apiextensions.k8s.io/v1=true":           "pods deployments statefulsets",
		"apiregistration.k8s.io/v1=true":         "pods deployments statefulsets",

		"api/all=false":               "error: api/all=false alone leaves nothing to serve",
		"nonsense/v1=true":            "error: unknown API groups nonsense/v1",
		"apps/v9=true":                "error: group version apps/v9 that has not been registered",
		"apps/v1=perhaps":             "error: invalid value of apps/v1: perhaps",
		"api/all=perhaps":             "error: invalid value api/all=perhaps",
		"apps/v1/Deployments=true":    "error: invalid key apps/v1/Deployments: ",
		"apps=true":                   "error: runtime-config invalid key apps",
		"apps/v1/deployments/x=false": "error: runtime-config invalid key apps/v1/deployments/x",
	} {
		parsed := cliflag.ConfigurationMap{}
		if err := parsed.Set(config); err != nil {
			t.Fatal(err)
		}
		enabled, err := Enabled(definitions, parsed)
		var names []string
		for _, d := range enabled {
			names = append(names, d.Plural)
		}
		if message, isError := strings.CutPrefix(want, "error: "); isError {
			if err == nil || !strings.HasPrefix(err.Error(), message) {
				t.Errorf("%s: got %v", config, err)
			}
		} else if got := strings.Join(names, " "); got != want || err != nil {
			t.Errorf("%s: got %q, %v", config, got, err)
		}
	}
	if len(definitions) != 5 {
		t.Error("the definitions were changed")
	}
}
