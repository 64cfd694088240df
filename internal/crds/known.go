package crds

import (
	"time"
	"weak"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/cache"
)

// known is a CRD as this process wrote it. It is immutable.
type known struct {
	// spec is the part of the value that has the spec; statusAt is the offset of beforeStatus in the value.
	spec     []byte
	statusAt int
	outline  *apiextensionsv1.CustomResourceDefinition
	// definition is the CRD as long as the request that wrote it uses it. It is weak because a decoded CRD takes a hundred
	// times the memory of its value.
	definition weak.Pointer[apiextensions.CustomResourceDefinition]
}

// recent has the values that this process wrote last, so that it need not decode them when it computes their
// conditions and gets their events. A key is the address of a value's first byte, because entries keep the slice that
// was written. Keys keep their values in memory, so an address is not used again. Missing values are decoded.
var recent = cache.NewLRUExpireCache(16)

// rememberedFor is longer than a CRD takes to be established.
const rememberedFor = time.Minute

func remember(value []byte, k *known) { recent.Add(&value[0], k, rememberedFor) }

// recall returns nil for most values.
func recall(value []byte) *known {
	if len(value) == 0 {
		return nil
	}
	if found, ok := recent.Get(&value[0]); ok {
		return found.(*known)
	}
	return nil
}
