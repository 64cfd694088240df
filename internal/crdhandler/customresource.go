package crdhandler

import (
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crd-server/crd-server/internal/crdhandler/customresources"
	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/crdhandler/scales"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/crdhandler/write"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/managedfields"
	"github.com/crd-server/crd-server/internal/wire"
)

// newServedVersion returns a version of a CRD with its objects and scopes. It compiles nothing.
func newServedVersion(config *Config, record *crds.Record, info *crdInfo, v *crds.Version) *servedVersion {
	group, names := record.Group, record.AcceptedNames
	gv := schema.GroupVersion{Group: group, Version: v.Name}
	kind := gv.WithKind(names.Kind)
	codec := &customresources.Codec{
		Schemas: info.schemas,
		Version: gv,
		Storage: schema.GroupVersion{Group: group, Version: info.storageVersion},
		CBOR:    wire.CBOREnabled(),
	}
	definitions := config.Store.Resource(crds.GroupName, crds.Plural)
	objects := &stored.Objects{
		Resource: info.resource,
		Of:       gv.WithResource(names.Plural).GroupResource(),
		Viewer:   dynamicstorage.NewViewer(codec.Views),
		Codec:    codec,
		Admitted: &codec.Admitted,
		// A write must not leave an object behind if its CRD is deleted meanwhile.
		Conditions: []dynamicstorage.Condition{definitions.Still(record.Name, record.CreateRevision())},
	}
	main := &requestScope{
		config: config,
		Endpoint: write.Endpoint{
			Policy:     &config.Policy,
			Resource:   gv.WithResource(names.Plural),
			Kind:       kind,
			Namespaced: record.Namespaced,
			Interfaces: customResourceInterfaces(info, kind),
			Objects:    objects,
			Strategy:   customresources.NewStrategy(info.schemas, v.Name),
		},
		listKind: gv.WithKind(names.ListKind),
		hub:      gv,
		// strategic merge needs Go types (W6)
		patchTypes: withApplyCBOR(types.JSONPatchType, types.MergePatchType, types.ApplyYAMLPatchType),
		lists:      &compressedLists{},
		columns:    func() (printing.TableConvertor, error) { return info.schemas.Columns(v.Name) },
		replaced:   info.replaced,
	}
	main.serializer, main.standardSerializers = customresources.NewSerializer(info.schemas, main.Interfaces.Convertor)
	main.fieldManager = main.lazyFieldManager(info, func() (managedfields.ResetFields, error) {
		version, err := info.schemas.Version(v.Name)
		if err != nil {
			return nil, err
		}
		return version.ResetFields(), nil
	})
	served := &servedVersion{served: v.Served, objects: objects, main: main, warnings: deprecationWarnings(record, v)}
	if v.Status {
		served.status = main.statusScope(info, v.Name)
	}
	if v.Scale {
		served.scale = main.scaleScope(info, v.Name)
	}
	return served
}

// statusScope returns the scope of the status subresource: the same objects with other rules.
func (s *requestScope) statusScope(info *crdInfo, version string) *requestScope {
	status := *s
	status.Subresource = "status"
	status.Strategy = customresources.NewStatusStrategy(info.schemas, version)
	status.fieldManager = status.lazyFieldManager(info, info.statusResetFields)
	return &status
}

// scaleScope returns the scope of the scale subresource: autoscaling/v1 Scale objects made of custom resources.
func (s *requestScope) scaleScope(info *crdInfo, version string) *requestScope {
	scale := *s
	scale.Subresource = "scale"
	scale.Kind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	scale.serializer = scales.Serializer() // protobuf is accepted, but as upstream not returned
	scale.Scale = &scales.CustomResource{Schemas: info.schemas, Version: version, Hub: s.hub}
	scale.columns = sync.OnceValues(scales.Table)
	scale.fieldManager = scale.lazyFieldManager(info, func() (managedfields.ResetFields, error) { return nil, nil })
	return &scale
}

// lazyFieldManager returns a function that builds the field manager of the scope on first use.
func (s *requestScope) lazyFieldManager(
	info *crdInfo, reset func() (managedfields.ResetFields, error),
) func() (managedfields.Manager, error) {
	config := s.fieldManagerConfig()
	return sync.OnceValues(func() (managedfields.Manager, error) {
		var err error
		if config.ResetFields, err = reset(); err != nil {
			return nil, err
		}
		config.Types = customresources.NewTypeConverter(info.schemas)
		return managedfields.New(config)
	})
}

// fieldManagerConfig describes the endpoint to its field manager, except for types and reset fields.
func (s *requestScope) fieldManagerConfig() managedfields.Config {
	return managedfields.Config{
		Convertor: s.Interfaces.Convertor, Defaulter: s.Interfaces.Defaulter, Creater: s.Interfaces.Creater,
		Kind: s.Kind, Hub: s.hub, Subresource: s.Subresource,
	}
}

// customResourceInterfaces are the object interfaces of a version; the defaulter and convertor compile on first use.
func customResourceInterfaces(info *crdInfo, kind schema.GroupVersionKind) write.Interfaces {
	return write.Interfaces{
		Creater:     customresources.Creater,
		Typer:       customresources.NewTyper(),
		Defaulter:   customresources.NewDefaulter(info.schemas, kind.GroupKind()),
		Convertor:   customresources.NewConvertor(info.schemas),
		Equivalents: info.equivalents,
	}
}

// equivalentResources returns the registry by which admission knows that the versions of a CRD are the same resource.
func equivalentResources(record *crds.Record) runtime.EquivalentResourceMapper {
	registry := runtime.NewEquivalentResourceRegistry()
	for _, v := range record.Versions {
		gv := schema.GroupVersion{Group: record.Group, Version: v.Name}
		resource, kind := gv.WithResource(record.AcceptedNames.Plural), gv.WithKind(record.AcceptedNames.Kind)
		registry.RegisterKindFor(resource, "", kind)
		if v.Status {
			registry.RegisterKindFor(resource, "status", kind)
		}
		if v.Scale {
			registry.RegisterKindFor(resource, "scale", autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
		}
	}
	return registry
}
