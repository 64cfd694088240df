package crdhandler

import (
	"context"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	definitiontable "k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/tableconvertor"

	"github.com/crd-server/crd-server/internal/crdhandler/definitions"
	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/crdhandler/write"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/managedfields"
)

// newDefinitionEndpoints returns the endpoints of CRDs: typed objects under upstream's own rules (C1-C9).
func newDefinitionEndpoints(config *Config) *builtinEndpoints {
	codec := definitions.Codec{}
	rules, statusRules := definitions.NewStrategy(), definitions.NewStatusStrategy()
	definition := &definitions.Resource
	protection := definitions.Protection{Store: config.Store, All: config.ProtectDefinitions}
	main := &requestScope{
		config: config,
		Endpoint: write.Endpoint{
			Policy:     &config.Policy,
			Resource:   definition.GroupVersionResource(),
			Kind:       definition.GroupVersionKind(),
			Typed:      true,
			Interfaces: schemeInterfaces(crds.Scheme),
			Objects: &stored.Objects{
				Resource: config.Store.Resource(crds.GroupName, crds.Plural),
				Of:       definition.GroupVersionResource().GroupResource(),
				Viewer:   dynamicstorage.NewViewer(codec.Views),
				Codec:    codec,
			},
			Strategy: rules,
			Hooks:    write.Hooks{InEffect: config.ReconcileDefinition},
		},
		listKind:   definition.GroupVersion.WithKind(definition.Kind + "List"),
		hub:        apiextensions.SchemeGroupVersion,
		serializer: crds.Codecs,
		patchTypes: typedPatchTypes(),
		lists:      &compressedLists{},
		columns:    func() (printing.TableConvertor, error) { return definitiontable.New(), nil },
		deletion:   deletionRules{finalize: definitions.MarkForDeletion, protect: protection.BeforeDelete},
		replaced:   context.Background(),
	}
	main.setDefinitionFields(rules.GetResetFields())
	status := *main
	status.Subresource = "status"
	status.Strategy = statusRules
	status.setDefinitionFields(statusRules.GetResetFields())
	subresources := map[string]*requestScope{"status": &status}
	return &builtinEndpoints{definition: definition, main: main, subresources: subresources}
}

func (s *requestScope) setDefinitionFields(reset managedfields.ResetFields) {
	config := s.fieldManagerConfig()
	config.ResetFields = reset
	s.fieldManager = definitions.LazyFieldManager(config)
}
