// Package stored describes stored objects to the handlers: their keys, the bytes that a version serves of them, and
// the errors of reading and writing them.
//
// Begin at objects.go: Objects are the objects of a resource in one version. object.go has keys and views, errors.go
// the errors of the storage, corrupt.go those of objects that cannot be read.
package stored

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/crd-server/crd-server/internal/budget"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
	"github.com/crd-server/crd-server/internal/wire"
)

// ViewFunc returns the view of an entry. It fails with a CorruptError if the entry cannot be read.
type ViewFunc func(ctx context.Context, entry *dynamicstorage.Entry) (*dynamicstorage.View, error)

// ViewFrom returns the function that reads views of a viewer.
func ViewFrom(viewer *dynamicstorage.Viewer) ViewFunc {
	return func(ctx context.Context, entry *dynamicstorage.Entry) (*dynamicstorage.View, error) {
		return view(ctx, viewer, entry)
	}
}

func view(
	ctx context.Context, viewer *dynamicstorage.Viewer, entry *dynamicstorage.Entry,
) (*dynamicstorage.View, error) {
	view, err := viewer.View(ctx, entry)
	if err != nil {
		return nil, err
	}
	if corrupt := Unreadable(entry, view); corrupt != nil {
		return nil, corrupt
	}
	return view, nil
}

// ViewsFunc returns the views of entries, in their order. The view of an entry that cannot be read has its Err set.
type ViewsFunc func(ctx context.Context, entries []*dynamicstorage.Entry) ([]*dynamicstorage.View, error)

// Key returns the key of the object that a request names. The error is the API error for a bad name.
func Key(namespaced bool, namespace, name string) (string, error) {
	switch {
	case namespaced && namespace == "":
		return "", apierrors.NewBadRequest("Namespace parameter required.")
	case name == "":
		return "", apierrors.NewBadRequest("Name parameter required.")
	}
	if problems := content.IsPathSegmentName(name); len(problems) != 0 {
		text := fmt.Sprintf("Name parameter invalid: %q: %s", name, strings.Join(problems, ";"))
		return "", apierrors.NewBadRequest(text)
	}
	if !namespaced {
		return name, nil
	}
	if problems := content.IsPathSegmentName(namespace); len(problems) != 0 {
		text := fmt.Sprintf("Namespace parameter invalid: %q: %s", namespace, strings.Join(problems, ";"))
		return "", apierrors.NewBadRequest(text)
	}
	return namespace + "/" + name, nil
}

// Name returns the name of the object at key.
func Name(key string) string {
	return key[strings.LastIndexByte(key, '/')+1:]
}

// Namespace returns the namespace of the object at key, or "" if it has none.
func Namespace(key string) string {
	namespace, _, ok := strings.Cut(key, "/")
	if !ok {
		return ""
	}
	return namespace
}

// Object returns a view at a revision as the wire package writes it.
func Object(view *dynamicstorage.View, revision int64) wire.Object {
	return wire.Object{Bytes: view.Bytes, At: view.At, Revision: revision}
}

// Reserve reserves the memory to work on an entry, if there is one. A request for an object in the cache has done so
// before.
func Reserve(ctx context.Context, entry *dynamicstorage.Entry) error {
	if entry == nil {
		return nil
	}
	return budget.Reserve(ctx, len(entry.Value))
}
