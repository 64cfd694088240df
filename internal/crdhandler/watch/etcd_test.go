package watch

import (
	"os"
	"testing"

	"github.com/crd-server/crd-server/internal/etcdtest"
)

// etcd is shared by the tests of the package. Each has a prefix of its own.
var etcd *etcdtest.Etcd

func TestMain(m *testing.M) { os.Exit(etcdtest.Main(m, &etcd)) }
