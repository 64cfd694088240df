package kubeapiserver

import (
	_ "embed" // kube-apiserver.yaml
	"sync"

	"github.com/spf13/pflag"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/yaml"
)

//go:embed kube-apiserver.yaml
var encodedTables []byte

// tables say what kube-apiserver has. Their file explains them.
type tables struct {
	Served, Plugins, Features []string
	Unused                    map[string]string
}

// readTables returns the tables. Only a server that acts as kube-apiserver decodes them.
var readTables = sync.OnceValue(func() *tables {
	t := &tables{}
	utilruntime.Must(yaml.UnmarshalStrict(encodedTables, t))
	return t
})

// addUnused adds the flags that are parsed and have no effect.
func (t *tables) addUnused(fs *pflag.FlagSet) {
	const usage = "Has no effect."
	for name, kind := range t.Unused {
		switch kind {
		case "bool":
			fs.Bool(name, false, usage)
		case "int":
			fs.Int64(name, 0, usage)
		case "duration":
			fs.Duration(name, 0, usage)
		case "stringSlice":
			fs.StringSlice(name, nil, usage)
		default:
			fs.String(name, "", usage)
		}
	}
}
