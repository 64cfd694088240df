package crdhandler

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/crd-server/crd-server/internal/conversion"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Config is what a crdHandler is made of.
type Config struct {
	Store      *dynamicstorage.Store
	Table      *crds.Table
	Converters *conversion.Factory

	// Delegate receives what no CustomResourceDefinition serves.
	Delegate http.Handler
	// GroupDiscovery and VersionDiscovery answer /apis/<group> and /apis/<group>/<version>.
	GroupDiscovery, VersionDiscovery http.Handler

	// Settle makes a written CustomResourceDefinition take effect: its conditions are computed and
	// the local table shows them when it returns. The CRD endpoint calls it before it answers.
	Settle func(ctx context.Context, name string) error

	// Authorizer decides on apply requests that create, and unsafe deletes; nil allows all.
	Authorizer authorizer.Authorizer
	// Admission is asked before objects are stored; nil admits all.
	Admission admission.Interface

	// MinRequestTimeout is the least time a watch is kept open: [t, 2t) at random.
	MinRequestTimeout time.Duration
	// MaxRequestBodyBytes limits the body of writes (3 MiB by default).
	MaxRequestBodyBytes int64
	// SchemaCacheBytes bounds the memory of compiled schemas (256 MiB by default).
	SchemaCacheBytes int64
	// GarbageCollection says that a garbage collector works on the objects, so that propagation
	// policies turn into finalizers (W16).
	GarbageCollection bool
	// DeleteCollectionWorkers is the number of objects a deletecollection deletes at a time.
	DeleteCollectionWorkers int
}
