package crdhandler

import (
	"os"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/crd-server/crd-server/internal/etcdtest"
)

// etcd is shared by the tests of the package.
var etcd *etcdtest.Etcd

// TestMain checks that the tests leave no goroutine behind.
func TestMain(m *testing.M) {
	// The default handlers log the error, then sleep to limit their rate.
	utilruntime.ErrorHandlers = nil
	os.Exit(etcdtest.Main(m, &etcd))
}
