package namespaces

import (
	"context"
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// pageSize bounds the objects of one request. Deleting a page must not take more memory than a client may.
const pageSize = "500"

// metadataOnly is the format in which collections are listed and deleted. A deletion in it needs no conversion, so
// objects go even if their conversion webhook does not answer. Counting what is left needs one.
const metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// inBackground are the options of deletions. The collector must not add finalizers: all objects go anyway.
var inBackground = []byte(`{"propagationPolicy":"Background"}`)

// deleteAll deletes all objects that a resource has in a namespace.
func (d *deleter) deleteAll(ctx context.Context, gvr schema.GroupVersionResource, namespace string) error {
	return eachPage(func(next string) (*metav1.PartialObjectMetadataList, error) {
		request := collection(d.rest.Delete(), gvr, namespace, next)
		return page(ctx, request.SetHeader("Content-Type", runtime.ContentTypeJSON).Body(inBackground))
	})
}

// remains are the objects that a resource has left in a namespace.
type remains struct {
	objects int
	// finalizers has the number of objects that have each finalizer.
	finalizers map[string]int
	// graceful says that an object has a grace period that is not over: that of a Pod on a node.
	graceful bool
}

// count counts the objects that a resource has in a namespace.
func (d *deleter) count(ctx context.Context, gvr schema.GroupVersionResource, namespace string) (remains, error) {
	left := remains{finalizers: map[string]int{}}
	err := eachPage(func(next string) (*metav1.PartialObjectMetadataList, error) {
		list, err := page(ctx, collection(d.rest.Get(), gvr, namespace, next))
		left.objects += len(list.Items)
		for n := range list.Items {
			item := &list.Items[n]
			for _, finalizer := range item.Finalizers {
				left.finalizers[finalizer]++
			}
			left.graceful = left.graceful || item.DeletionTimestamp != nil && time.Until(item.DeletionTimestamp.Time) > 0
		}
		return list, err
	})
	return left, err
}

// eachPage gets the pages of a collection, all at the revision of the first one.
func eachPage(get func(next string) (*metav1.PartialObjectMetadataList, error)) error {
	for next := ""; ; {
		list, err := get(next)
		if err != nil {
			return err
		}
		if next = list.Continue; next == "" {
			return nil
		}
	}
}

func page(ctx context.Context, request *rest.Request) (*metav1.PartialObjectMetadataList, error) {
	list := &metav1.PartialObjectMetadataList{}
	result := request.SetHeader("Accept", metadataOnly).Do(ctx)
	if err := result.Error(); err != nil { // unlike Raw's it is the Status in the body
		return list, err
	}
	body, err := result.Raw()
	if err != nil {
		return list, err
	}
	return list, json.Unmarshal(body, list)
}

// collection completes a request for a page of the objects of a resource in a namespace.
func collection(request *rest.Request, gvr schema.GroupVersionResource, namespace, next string) *rest.Request {
	root := []string{"apis", gvr.Group}
	if gvr.Group == "" {
		root = []string{"api"}
	}
	return request.AbsPath(append(root, gvr.Version, "namespaces", namespace, gvr.Resource)...).
		Param("limit", pageSize).Param("continue", next)
}
