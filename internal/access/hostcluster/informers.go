package hostcluster

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/admissionregistration"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Informers is a SharedInformerFactory for what the admission plugins watch. The embedded interface is nil, so a call
// of a method that is not here panics. The factory of client-go has the informers of all groups, and the linker keeps
// them. See docs/upstream.md, "Dead code elimination".
type Informers struct {
	informers.SharedInformerFactory
	client kubernetes.Interface

	// mu guards byType.
	mu     sync.Mutex
	byType map[reflect.Type]cache.SharedIndexInformer
}

// NewInformers returns shared informers for the groups core and admissionregistration.k8s.io. They never resync.
func NewInformers(client kubernetes.Interface) *Informers {
	return &Informers{client: client, byType: map[reflect.Type]cache.SharedIndexInformer{}}
}

// InformerFor implements SharedInformerFactory.
func (s *Informers) InformerFor(
	object runtime.Object, create internalinterfaces.NewInformerFunc,
) cache.SharedIndexInformer {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := reflect.TypeOf(object)
	informer := s.byType[key]
	if informer == nil {
		informer = create(s.client, 0)
		_ = informer.SetWatchErrorHandlerWithContext(handleWatchError) // fails only after a start
		s.byType[key] = informer
	}
	return informer
}

// handleWatchError logs the error of a watch, unless the informer is being stopped.
func handleWatchError(ctx context.Context, reflector *cache.Reflector, err error) {
	if ctx.Err() == nil {
		cache.DefaultWatchErrorHandler(ctx, reflector, err)
	}
}

// InformerName implements SharedInformerFactory: the informers have no metrics.
func (s *Informers) InformerName() *cache.InformerName { return nil }

// ForResource implements SharedInformerFactory. It knows no resource. A policy then follows its parameters with the
// dynamic client.
func (s *Informers) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	return nil, fmt.Errorf("no informer for %s", resource)
}

// Core implements SharedInformerFactory.
func (s *Informers) Core() core.Interface { return core.New(s, metav1.NamespaceAll, nil) }

// Admissionregistration implements SharedInformerFactory.
func (s *Informers) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(s, metav1.NamespaceAll, nil)
}

// Run runs the informers that exist when it is called. It returns when ctx is done and all of them have ended.
func (s *Informers) Run(ctx context.Context) {
	var running sync.WaitGroup
	s.mu.Lock()
	for _, informer := range s.byType {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	s.mu.Unlock()
	running.Wait()
}
