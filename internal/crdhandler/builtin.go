package crdhandler

import (
	"context"
	"net/http"
	"strings"
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/builtin/resource"
	"github.com/crd-server/crd-server/internal/crdhandler/objectmeta"
	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/crdhandler/scales"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/crdhandler/write"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/managedfields"
	"github.com/crd-server/crd-server/internal/wire"
)

// builtinEndpoints are the endpoints of a resource that ships with the server: a built-in resource, or CRDs. Its
// objects have a Go type.
type builtinEndpoints struct {
	definition   *resource.Definition
	main         *requestScope
	subresources map[string]*requestScope
}

// newBuiltins returns the endpoints of the built-in resources and of CRDs. They share nothing but the store. Those of
// CRDs are called definitions here; the Definitions of config.Builtin are the rows of the table.
func newBuiltins(config *Config) map[schema.GroupVersionResource]*builtinEndpoints {
	definitions := newDefinitionEndpoints(config)
	all := map[schema.GroupVersionResource]*builtinEndpoints{definitions.main.Resource: definitions}
	if config.Builtin == nil {
		return all
	}
	for _, d := range config.Builtin.Definitions {
		all[d.GroupVersionResource()] = newBuiltinEndpoints(config, d)
	}
	for _, d := range config.Builtin.Definitions {
		endpoints := all[d.GroupVersionResource()]
		if d.ActsAs != "" {
			endpoints.actAs(all)
		}
		for _, scope := range endpoints.subresources {
			if scope.connect != nil {
				scope.connect.all = all
			}
		}
	}
	return all
}

// actAs makes a creation the action of the subresource that ActsAs names.
func (b *builtinEndpoints) actAs(all map[schema.GroupVersionResource]*builtinEndpoints) {
	name, subresource, _ := strings.Cut(b.definition.ActsAs, "/")
	scope := *all[b.definition.GroupVersion.WithResource(name)].subresources[subresource]
	scope.Resource, scope.Subresource = b.main.Resource, ""
	b.main = &scope
}

// newBuiltinScope returns the endpoint of a built-in resource itself. It compiles nothing.
func newBuiltinScope(config *Config, d *resource.Definition) *requestScope {
	of := d.GroupVersionResource().GroupResource()
	plugins := config.Plugins.For(of, "")
	main := &requestScope{
		config: config,
		Endpoint: write.Endpoint{
			Policy:       &config.Policy,
			Resource:     d.GroupVersionResource(),
			Kind:         d.GroupVersionKind(),
			Namespaced:   d.Namespaced,
			Typed:        true,
			Interfaces:   builtinInterfaces(config.Builtin, d),
			Objects:      builtinObjects(config, d),
			Strategy:     plugins.Rules(strategyOf(d.Strategy)),
			UniqueErrors: true,
			Hooks: write.Hooks{
				Plugins:        plugins,
				Allocator:      config.Allocators[of],
				BlocksDeletion: d.Held,
			},
		},
		listKind:   d.GroupVersion.WithKind(d.Kind + "List"),
		hub:        d.GroupVersion,
		serializer: config.Builtin.Codecs,
		patchTypes: typedPatchTypes(),
		lists:      &compressedLists{},
		columns:    sync.OnceValues(func() (printing.TableConvertor, error) { return d.Printer(), nil }),
		events:     d.Expires,
		replaced:   context.Background(),
		deletion: deletionRules{
			gracePeriod:    d.GracePeriod,
			orphans:        d.OrphansDependents,
			warnings:       d.DeleteWarnings,
			returnsDeleted: d.ReturnsDeleted,
		},
	}
	if d.BeginDeletion != nil {
		main.deletion.finalize = func(obj runtime.Object) bool { return beginDeletion(d, obj) }
	}
	if d.Storage != nil {
		main.StorageKind = d.Storage.GroupVersion.WithKind(d.Storage.Kind).GroupKind()
	}
	main.setBuiltinFields(d, d.Resets)
	return main
}

// builtinObjects returns the stored objects of a built-in resource.
func builtinObjects(config *Config, d *resource.Definition) *stored.Objects {
	codec := config.Builtin.Codec(d)
	objects := &stored.Objects{
		Resource: config.Store.ResourceAt(d.StorageFolder()),
		Of:       d.GroupVersionResource().GroupResource(),
		Viewer:   dynamicstorage.NewViewer(codec.Views),
		Codec:    codec,
	}
	if viewer := codec.ProtobufViewer(objects.Viewer); viewer != nil {
		kind := runtime.TypeMeta{APIVersion: d.GroupVersion.String(), Kind: d.Kind}
		objects.Protobuf = &stored.Protobuf{Viewer: viewer, Kind: kind}
	}
	if d.Expires {
		objects.Expires = config.EventTTL
	}
	return objects
}

// newBuiltinEndpoints returns the endpoints of a built-in resource and of its subresources.
func newBuiltinEndpoints(config *Config, d *resource.Definition) *builtinEndpoints {
	main := newBuiltinScope(config, d)
	endpoints := &builtinEndpoints{definition: d, main: main, subresources: map[string]*requestScope{}}
	for _, sub := range d.Subresources {
		scope := *main
		scope.Subresource = sub.Name
		scope.Plugins = config.Plugins.For(d.GroupVersionResource().GroupResource(), sub.Name)
		scope.Strategy = scope.Plugins.Rules(strategyOf(sub.Strategy))
		scope.Updated = sub.Updated
		switch {
		case sub.Action != nil:
			scope.actionScope(main, d, &sub)
		case sub.Connect != nil:
			scope.connectScope(d, &sub)
		case sub.Scale != nil:
			scope.typedScaleScope(d, &sub)
		default:
			scope.setBuiltinFields(d, sub.Resets)
		}
		endpoints.subresources[sub.Name] = &scope
	}
	return endpoints
}

// beginDeletion is deletionRules.finalize of a definition with BeginDeletion.
func beginDeletion(d *resource.Definition, obj runtime.Object) bool {
	if !d.BeginDeletion(obj) {
		return false
	}
	now := metav1.Now()
	objectmeta.Accessor(obj).SetDeletionTimestamp(&now)
	return true
}

// typedPatchTypes returns the patch types of objects with a Go type.
func typedPatchTypes() []string {
	return withApplyCBOR(
		types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, types.ApplyYAMLPatchType)
}

// withApplyCBOR returns patch types, and apply in CBOR if clients may send CBOR.
func withApplyCBOR(patchTypes ...types.PatchType) []string {
	if wire.CBOREnabled() {
		patchTypes = append(patchTypes, types.ApplyCBORPatchType)
	}
	accepted := make([]string, len(patchTypes))
	for n, patchType := range patchTypes {
		accepted[n] = string(patchType)
	}
	return accepted
}

func strategyOf(s resource.Strategy) resource.Strategy {
	if s == nil {
		return resource.Rules{}
	}
	return s
}

// schemeInterfaces are the object interfaces of the types in a scheme.
func schemeInterfaces(scheme *runtime.Scheme) write.Interfaces {
	return write.Interfaces{
		Creater: scheme, Typer: scheme, Defaulter: scheme, Convertor: scheme,
		Equivalents: runtime.NewEquivalentResourceRegistry(),
	}
}

// builtinInterfaces are the object interfaces of a definition.
func builtinInterfaces(set *builtin.Set, d *resource.Definition) write.Interfaces {
	interfaces := schemeInterfaces(set.Scheme)
	interfaces.Convertor, interfaces.Equivalents = set.Convertor(d), set.Equivalents
	return interfaces
}

// typedScaleScope makes s the endpoint of Scales of the objects of d.
func (s *requestScope) typedScaleScope(d *resource.Definition, sub *resource.Subresource) {
	scale := &autoscalingv1.Scale{}
	s.Scale = scales.Builtin{Fields: sub.Scale, Version: d.GroupVersion}
	s.Kind, s.hub = autoscalingv1.SchemeGroupVersion.WithKind("Scale"), autoscalingv1.SchemeGroupVersion
	s.Strategy = strategyOf(d.Strategy)
	s.columns = func() (printing.TableConvertor, error) { return scales.Table() }
	s.setBuiltinFields(&resource.Definition{GroupVersion: s.hub, Kind: s.Kind.Kind, Object: scale}, nil)
}

// setBuiltinFields sets the field manager, which is built on first use. resets are the fields that a write of the
// endpoint cannot change.
func (s *requestScope) setBuiltinFields(d *resource.Definition, resets []string) {
	config := s.fieldManagerConfig()
	s.fieldManager = sync.OnceValues(func() (managedfields.Manager, error) {
		set := fieldpath.NewSet()
		for _, name := range resets {
			path := fieldpath.Path{}
			for part := range strings.SplitSeq(name, ".") {
				path = append(path, fieldpath.FieldNameElement(part))
			}
			set.Insert(path)
		}
		config.ResetFields = managedfields.ResetFields{}
		for _, version := range s.config.Builtin.Versions(d) {
			config.ResetFields[fieldpath.APIVersion(version.GroupVersion.String())] = set
		}
		var err error
		if config.Types, err = s.config.Builtin.Types(d); err != nil {
			return nil, err
		}
		return managedfields.NewTyped(config)
	})
}

// serve answers a request for the resource or one of its subresources.
func (b *builtinEndpoints) serve(w http.ResponseWriter, req *http.Request, info *request.RequestInfo) {
	scope := b.main
	if info.Subresource != "" {
		scope = b.subresources[info.Subresource]
	}
	delegate := b.main.config.Delegate
	if scope == nil || !b.addresses(info) {
		delegate.ServeHTTP(w, req)
		return
	}
	if !b.allows(scope, req, info) { // answered as by upstream's router
		const code = http.StatusMethodNotAllowed
		err := apierrors.NewGenericServerResponse(code, req.Method, schema.GroupResource{}, "", "", 0, false)
		scope.err(err, w, req)
		return
	}
	if text := b.definition.Deprecated; text != "" {
		warning.AddWarning(req.Context(), "", text)
	}
	if scope.connect != nil {
		connecting := *info
		connecting.Verb, info = connectVerb, &connecting
	}
	instrumented(scope.verb(info.Verb, false), info, false)(w, req)
}

// allows reports whether the path of a request has its method.
func (b *builtinEndpoints) allows(scope *requestScope, req *http.Request, info *request.RequestInfo) bool {
	proxies := scope.connect != nil && scope.connect.Proxies
	switch {
	case req.Method == http.MethodHead && !proxies:
		return false
	case req.Method == http.MethodOptions && proxies: // it has no verb
		return info.Name != ""
	}
	// The path of a collection in all namespaces can only be read.
	writesAcross := scope.Namespaced && info.Namespace == "" && !acrossNamespaces.Has(info.Verb)
	return !writesAcross && b.definition.Allows(info.Verb, info.Subresource, info.Name != "")
}

// addresses reports whether the path of a request is one of the resource. Namespaces are below themselves.
func (b *builtinEndpoints) addresses(info *request.RequestInfo) bool {
	if info.Name != "" && info.Subresource == "" && !b.definition.HasObjects() {
		return false
	}
	// Only proxies have paths below them.
	if sub := b.subresources[info.Subresource]; sub != nil && sub.connect != nil && !sub.connect.Proxies &&
		len(info.Parts) > 3 {
		return false
	}
	if !b.main.Namespaced {
		return info.Namespace == "" || b.main.Resource == write.NamespaceResource && info.Namespace == info.Name
	}
	return info.Namespace != "" || info.Name == "" || acrossNamespaces.Has(info.Verb)
}
