package rbac

import (
	"fmt"
	"os"
	"testing"

	"github.com/crd-server/crd-server/test/programs"
)

func TestMain(m *testing.M) {
	if err := programs.CheckServer(); err != nil {
		fmt.Fprintln(os.Stderr, "rbac:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
