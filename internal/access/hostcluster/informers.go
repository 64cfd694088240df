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

// sharedInformers is a SharedInformerFactory for the groups that the admission plugins watch. The embedded interface
// is nil, so a call of a method that is not here panics. The factory of client-go has the informers of all groups, and
// the linker keeps them. See docs/upstream.md, "Dead code elimination".
type sharedInformers struct {
	informers.SharedInformerFactory
	client kubernetes.Interface
	// running counts the informers that have been started.
	running sync.WaitGroup

	// mu guards the fields below.
	mu       sync.Mutex
	byType   map[reflect.Type]cache.SharedIndexInformer
	started  map[reflect.Type]bool
	stopping bool
}

// NewInformers returns shared informers for the groups core and admissionregistration.k8s.io. They never resync.
func NewInformers(client kubernetes.Interface) informers.SharedInformerFactory {
	return &sharedInformers{
		client: client, byType: map[reflect.Type]cache.SharedIndexInformer{}, started: map[reflect.Type]bool{},
	}
}

// InformerFor implements SharedInformerFactory.
func (s *sharedInformers) InformerFor(
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
func (s *sharedInformers) InformerName() *cache.InformerName { return nil }

// ForResource implements SharedInformerFactory. It knows no resource. A policy then follows its parameters with the
// dynamic client.
func (s *sharedInformers) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	return nil, fmt.Errorf("no informer for %s", resource)
}

// Core implements SharedInformerFactory.
func (s *sharedInformers) Core() core.Interface {
	return core.New(s, metav1.NamespaceAll, nil)
}

// Admissionregistration implements SharedInformerFactory.
func (s *sharedInformers) Admissionregistration() admissionregistration.Interface {
	return admissionregistration.New(s, metav1.NamespaceAll, nil)
}

// StartWithContext starts the informers that have not been started. They run until ctx is done.
func (s *sharedInformers) StartWithContext(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return
	}
	for key, informer := range s.byType {
		if !s.started[key] {
			s.started[key] = true
			s.running.Go(func() { informer.RunWithContext(ctx) })
		}
	}
}

// Shutdown waits until all informers have ended. No informer starts after it.
func (s *sharedInformers) Shutdown() {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	s.running.Wait()
}
