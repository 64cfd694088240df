package server

import (
	_ "embed" // hooks.yaml
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/yaml"
)

//go:embed hooks.yaml
var encodedHooks []byte

// possibleHook is a hook that some servers have. The file explains the fields.
type possibleHook struct {
	Name        string
	Stage       stage
	Needs, When string
}

var possibleHooks = sync.OnceValue(func() (all []possibleHook) {
	utilruntime.Must(yaml.UnmarshalStrict(encodedHooks, &all))
	return all
})

// hooksOf returns the hooks of a server with some resources.
func hooksOf(c *components) (hooks []*hook) {
	met := map[string]bool{"": true, "reload": c.options.Encryption.Reload, "identifies": c.options.identifies()}
	for _, h := range possibleHooks() {
		served := h.Needs == "" || c.storage.builtins.Find(schema.ParseGroupResource(h.Needs)) != nil
		if served && met[h.When] {
			hooks = append(hooks, &hook{name: h.Name, stage: h.Stage})
		}
	}
	return hooks
}
