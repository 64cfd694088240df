package serviceaccounts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	access "github.com/crd-server/crd-server/internal/access/serviceaccounts"
	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Objects reads the objects that tokens are bound to.
type Objects struct {
	resources map[string]stored
}

var _ access.Objects = &Objects{}

// stored is where the objects of a resource are.
type stored struct {
	entries *dynamicstorage.Resource
	codec   *builtin.Codec
}

// boundResources are the resources of core/v1 that tokens may be bound to. A server may serve some of them only.
var boundResources = []string{"nodes", "pods", "secrets", "serviceaccounts"}

// NewObjects returns the objects of a store.
func NewObjects(store *dynamicstorage.Store, set *builtin.Set) *Objects {
	o := &Objects{resources: map[string]stored{}}
	for _, d := range set.Definitions {
		if d.GroupVersion.Group == "" && slices.Contains(boundResources, d.Plural) {
			o.resources[d.Plural] = stored{store.ResourceAt(d.StorageFolder()), set.Codec(d)}
		}
	}
	return o
}

// Get returns an object as it is in etcd.
func (o *Objects) Get(ctx context.Context, ref access.ObjectRef) (metav1.Object, error) {
	entry, err := o.entry(ctx, ref, dynamicstorage.Consistent)
	if err != nil {
		return nil, err
	}
	return o.decode(ref, entry)
}

// Metadata returns the metadata of an object: its UID, and its deletionTimestamp if it has one.
func (o *Objects) Metadata(ctx context.Context, ref access.ObjectRef, fresh bool) (metav1.Object, error) {
	mode := dynamicstorage.Any
	if fresh {
		mode = dynamicstorage.Consistent
	}
	entry, err := o.entry(ctx, ref, mode)
	if err != nil {
		return nil, err
	}
	metadata, err := crds.ReadMetadata(entry.Value) // costs little, even if a Secret is large
	if err != nil {
		return nil, fmt.Errorf("metadata of %s %s: %w", ref.Resource, entry.Key, err)
	}
	if metadata.Deleting {
		return o.decode(ref, entry)
	}
	return &metav1.ObjectMeta{UID: metadata.UID}, nil
}

// entry returns the entry of an object.
func (o *Objects) entry(
	ctx context.Context, ref access.ObjectRef, mode dynamicstorage.ReadMode,
) (*dynamicstorage.Entry, error) {
	if ref.Name == "" {
		return nil, apierrors.NewBadRequest("Name parameter required.")
	}
	if mistakes := content.IsPathSegmentName(ref.Name); len(mistakes) > 0 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", ref.Name, strings.Join(mistakes, ";")))
	}
	resource, served := o.resources[ref.Resource]
	if !served {
		return nil, notFound(ref)
	}
	key := ref.Name
	if ref.Namespace != "" {
		key = ref.Namespace + "/" + ref.Name
	}
	entry, _, err := resource.entries.Get(ctx, key, dynamicstorage.ReadAt{Mode: mode})
	switch {
	case errors.Is(err, dynamicstorage.ErrNotFound), errors.Is(err, dynamicstorage.ErrInvalidKey):
		return nil, notFound(ref)
	case err == nil:
		err = entry.Err
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", ref.Resource, key, err)
	}
	return entry, nil
}

func (o *Objects) decode(ref access.ObjectRef, entry *dynamicstorage.Entry) (metav1.Object, error) {
	obj, err := o.resources[ref.Resource].codec.Object(entry)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", ref.Resource, entry.Key, err)
	}
	return obj.(metav1.Object), nil
}

func notFound(ref access.ObjectRef) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: ref.Resource}, ref.Name)
}
