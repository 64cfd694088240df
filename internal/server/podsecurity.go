package server

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/util/compatibility"
	basecompatibility "k8s.io/component-base/compatibility"

	"github.com/crd-server/crd-server/internal/access/admission"
	"github.com/crd-server/crd-server/internal/builtin/podsecurity"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// addPodSecurity adds the admission plugin PodSecurity to the definitions, if pods are served and it is enabled.
func addPodSecurity(o *admission.Options, s *stored) error {
	pods := corev1.Resource("pods")
	if s.builtins.Find(pods) == nil || !o.Enabled(podsecurity.Name) {
		return nil
	}
	configuration, err := o.PluginConfiguration(podsecurity.Name)
	if err != nil {
		return err
	}
	registry := compatibility.DefaultComponentGlobalsRegistry
	plugins, err := podsecurity.New(podsecurity.Config{
		Configuration: configuration,
		Version:       registry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent),
		Namespaces:    namespaceGetter(s),
		Pods:          namespaceLister[*corev1.Pod](s, pods),
	})
	if err != nil {
		return fmt.Errorf("--admission-control-config-file %s: %s: %w", o.ConfigFile, podsecurity.Name, err)
	}
	for _, d := range s.builtins.Definitions {
		d.Plugins = append(d.Plugins, plugins.For(d)...)
	}
	return nil
}

// namespaceGetter returns a function that returns the newest state of a namespace.
func namespaceGetter(s *stored) podsecurity.Namespaces {
	d := s.builtins.Find(corev1.Resource("namespaces"))
	entries, codec := s.store.ResourceAt(d.StorageFolder()), s.builtins.Codec(d)
	return func(ctx context.Context, name string) (*corev1.Namespace, error) {
		entry, _, err := entries.Get(ctx, name, dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
		if err != nil {
			return nil, err
		}
		obj, err := codec.Object(entry)
		if err != nil {
			return nil, fmt.Errorf("namespace %s: %w", name, err)
		}
		return obj.(*corev1.Namespace), nil
	}
}
