package etcd

import (
	"os"
	"strings"

	"go.etcd.io/etcd/pkg/v3/flags"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

// processDefaults are the settings of embeddedConfig that etcd has flags for, as far as a client cannot notice them.
var processDefaults = [][2]string{
	{"heartbeat-interval", "10"},
	{"election-timeout", "100"},
	{"snapshot-count", "1000"},
	{"log-level", "warn"},
}

// Main runs etcd as a process, with etcd's own flags and environment variables, until a signal ends it. It does not
// return. args are those of the process. Only some defaults differ: a single member starts sooner, and logs nothing
// unless something is wrong.
func Main(args []string) {
	UseSmallLogs()
	etcdmain.Main(withDefaults(args))
}

// withDefaults puts defaults before the flags, the last of which counts.
func withDefaults(args []string) []string {
	if len(args) > 1 && !strings.HasPrefix(args[1], "-") {
		return args // a subcommand, which has other flags
	}
	extended := args[:1:1]
	for _, d := range processDefaults {
		if os.Getenv(flags.FlagToEnv("ETCD", d[0])) == "" {
			extended = append(extended, "--"+d[0]+"="+d[1])
		}
	}
	return append(extended, args[1:]...)
}
