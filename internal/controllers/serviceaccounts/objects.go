package serviceaccounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	core "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	access "github.com/crd-server/crd-server/internal/access/serviceaccounts"
	"github.com/crd-server/crd-server/internal/builtin"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// Objects reads the objects that tokens are bound to, and labels Secrets.
type Objects struct {
	resources map[string]stored
	client    core.SecretsGetter
}

var _ access.Objects = &Objects{}

// stored is where the objects of a resource are.
type stored struct {
	entries *dynamicstorage.Resource
	codec   *builtin.Codec
}

// boundResources are the resources of core/v1 that tokens may be bound to. A server may serve some of them only.
var boundResources = []string{"nodes", "pods", "secrets", "serviceaccounts"}

// NewObjects returns the objects of a store. The client is of this server, as a user that may do everything.
func NewObjects(store *dynamicstorage.Store, set *builtin.Set, own *rest.Config) *Objects {
	o := &Objects{resources: map[string]stored{}, client: core.NewForConfigOrDie(own)}
	for _, d := range set.Definitions {
		if d.GroupVersion.Group == "" && slices.Contains(boundResources, d.Plural) {
			o.resources[d.Plural] = stored{store.ResourceAt(d.StorageFolder()), set.Codec(d)}
		}
	}
	return o
}

// Get returns an object.
func (o *Objects) Get(ctx context.Context, ref access.ObjectRef, fresh bool) (metav1.Object, error) {
	entry, err := o.entry(ctx, ref, fresh)
	if err != nil {
		return nil, err
	}
	return o.decode(ref, entry)
}

// Metadata returns the metadata of an object: its UID, and its deletionTimestamp if it has one.
func (o *Objects) Metadata(ctx context.Context, ref access.ObjectRef, fresh bool) (metav1.Object, error) {
	entry, err := o.entry(ctx, ref, fresh)
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

// Label sets a label of a Secret that has the UID of the given one.
func (o *Objects) Label(ctx context.Context, secret *corev1.Secret, label, value string) error {
	patch, err := json.Marshal(map[string]any{"metadata": metav1.ObjectMeta{
		UID: secret.UID, Labels: map[string]string{label: value},
	}})
	if err != nil {
		return err
	}
	_, err = o.client.Secrets(secret.Namespace).Patch(ctx, secret.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// entry returns the entry of an object as it is in etcd if fresh, else as it is in the cache.
func (o *Objects) entry(ctx context.Context, ref access.ObjectRef, fresh bool) (*dynamicstorage.Entry, error) {
	mode := dynamicstorage.Any
	if fresh {
		mode = dynamicstorage.Consistent
	}
	if ref.Name == "" {
		return nil, apierrors.NewBadRequest("Name parameter required.")
	}
	if mistakes := content.IsPathSegmentName(ref.Name); len(mistakes) > 0 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", ref.Name,
			strings.Join(mistakes, ";")))
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
