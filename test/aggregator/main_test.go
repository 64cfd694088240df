package aggregator

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/crd-server/crd-server/test/programs"
	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if !testing.Verbose() { // the aggregator logs every backend that does not answer
		klog.SetLogger(logr.Discard())
	}
	if err := programs.CheckServer(); err != nil {
		fmt.Fprintln(os.Stderr, "aggregator:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
