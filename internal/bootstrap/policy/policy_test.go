package policy

import (
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// TestManifests checks that the manifests have no unknown or repeated fields. Transcripts and test/rbac compare the
// objects with those of kube-apiserver.
func TestManifests(t *testing.T) {
	t.Parallel()
	strict := slices.Concat(decode(essential, serializer.EnableStrict), decode(cluster, serializer.EnableStrict))
	if !reflect.DeepEqual(strict, Default(true)) {
		t.Error("the manifests mean something else than they say")
	}
}
