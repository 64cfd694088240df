package crdhandler

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/crd-server/crd-server/internal/conversion"
	"github.com/crd-server/crd-server/internal/crdhandler/watch"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Config has what a crdHandler needs.
type Config struct {
	Store      *dynamicstorage.Store
	Table      *crds.Table
	Converters *conversion.Factory

	// Delegate receives the requests that no CustomResourceDefinition serves.
	Delegate http.Handler
	// GroupDiscovery and VersionDiscovery answer /apis/<group> and /apis/<group>/<version>.
	GroupDiscovery, VersionDiscovery http.Handler

	// ReconcileDefinition updates the conditions of a CustomResourceDefinition after a write of it, and returns when
	// the local table shows the result. The CRD endpoint calls it before it responds.
	ReconcileDefinition func(ctx context.Context, name string) error

	// Authorizer decides about applies that create an object, and about unsafe deletions; nil allows all.
	Authorizer authorizer.Authorizer
	// Admission admits objects before they are stored; nil admits all.
	Admission admission.Interface

	// MinRequestTimeout is the shortest time t that a watch stays open: the handler picks one in [t, 2t) at random.
	MinRequestTimeout time.Duration
	// MaxRequestBodyBytes limits the body of writes (3 MiB by default).
	MaxRequestBodyBytes int64
	// SchemaCacheBytes bounds the memory of compiled schemas (256 MiB by default).
	SchemaCacheBytes int64
	// GarbageCollection says that a garbage collector runs, so propagation policies become finalizers (W16).
	GarbageCollection bool
	// DeleteCollectionWorkers is the number of objects that a deletecollection deletes at a time.
	DeleteCollectionWorkers int

	// shutdown ends watches; New sets it.
	shutdown *watch.Shutdown
}
