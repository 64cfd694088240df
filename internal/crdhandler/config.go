package crdhandler

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/conversion"
	"github.com/crd-server/crd-server/internal/crdhandler/watch"
	"github.com/crd-server/crd-server/internal/crdhandler/write"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Config has what a crdHandler needs.
type Config struct {
	Store      *dynamicstorage.Store
	Table      *crds.Table
	Converters *conversion.Factory

	// Builtin are the built-in resources; nil for none.
	Builtin *builtin.Set
	// Plugins admit the writes of built-in resources.
	Plugins resource.Plugins
	// Actions do the actions of built-in resources, by "resource/subresource". Each action of Builtin has one.
	Actions map[string]resource.ActionFunc
	// Allocators give the objects of some built-in resources what they share with others.
	Allocators map[schema.GroupResource]resource.Allocator
	// EventTTL is the time after which events are deleted.
	EventTTL time.Duration

	// Delegate receives the requests for resources that do not exist.
	Delegate http.Handler
	// GroupDiscovery and VersionDiscovery answer /apis/<group> and /apis/<group>/<version>.
	GroupDiscovery, VersionDiscovery http.Handler

	// ReconcileDefinition updates the conditions of a CustomResourceDefinition after a write of it, and returns when
	// the local table shows the result. The CRD endpoint calls it before it responds.
	ReconcileDefinition func(ctx context.Context, name string) error

	// Policy decides which writes are allowed.
	write.Policy

	// MinRequestTimeout is the shortest time t that a watch stays open: the handler picks one in [t, 2t) at random.
	MinRequestTimeout time.Duration
	// MaxRequestBodyBytes limits the body of writes (3 MiB by default).
	MaxRequestBodyBytes int64
	// SchemaCacheBytes bounds the memory of compiled schemas (256 MiB by default).
	SchemaCacheBytes int64
	// ProtectDefinitions refuses to delete any CRD that has objects, unless its annotation allows that.
	ProtectDefinitions bool
	// GarbageCollection says that a garbage collector runs, so propagation policies become finalizers (W16).
	GarbageCollection bool
	// DeleteCollectionWorkers is the number of objects that a deletecollection deletes at a time.
	DeleteCollectionWorkers int
	// WithoutWatchCache reads lists at resourceVersion 0 as kube-apiserver does without its watch cache: a limit holds.
	WithoutWatchCache bool

	// shutdown ends watches; New sets it.
	shutdown *watch.Shutdown
}
