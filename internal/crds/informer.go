package crds

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// NewInformer returns an informer of *Record that lists and watches the store. The caller runs and stops it. A CRD that
// cannot be decoded is logged and skipped.
func NewInformer(store *dynamicstorage.Store) cache.SharedIndexInformer {
	source := &source{resource: store.Resource(GroupName, Plural)}
	return cache.NewSharedIndexInformer(source, &Record{}, 0, cache.Indexers{})
}

// source is the list and the watch behind the informer.
type source struct {
	resource *dynamicstorage.Resource
}

var (
	_ cache.ListerWatcher            = &source{}
	_ cache.ListerWatcherWithContext = &source{}
)

// IsWatchListSemanticsUnSupported makes the reflector list before it watches. A stream of initial events would save
// nothing in the same process.
func (s *source) IsWatchListSemanticsUnSupported() bool { return true }

// List is for callers without a context.
func (s *source) List(options metav1.ListOptions) (kruntime.Object, error) {
	return s.ListWithContext(context.Background(), options)
}

// Watch is for callers without a context.
func (s *source) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), options)
}

// ListWithContext returns all records at one revision and ignores the limit. The resourceVersion "" means the newest
// revision, "0" any revision, and others a minimum.
func (s *source) ListWithContext(ctx context.Context, options metav1.ListOptions) (kruntime.Object, error) {
	at, err := readAt(options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	snapshot, err := s.resource.Snapshot(ctx, at)
	if err != nil {
		return nil, listError(err)
	}
	var entries []*dynamicstorage.Entry
	for entry, err := range snapshot.Ascend(ctx, "", "") {
		if err != nil {
			return nil, listError(err)
		}
		entries = append(entries, entry)
	}
	list := &recordList{Items: recordsOf(ctx, entries)}
	list.ResourceVersion = strconv.FormatInt(snapshot.Revision, 10)
	return list, nil
}

// recordsOf decodes entries in parallel, because a start with thousands of CRDs waits for it.
func recordsOf(ctx context.Context, entries []*dynamicstorage.Entry) []*Record {
	records := make([]*Record, len(entries))
	var next atomic.Int64
	var readers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		readers.Go(func() {
			for n := next.Add(1) - 1; n < int64(len(entries)); n = next.Add(1) - 1 {
				if records[n] = recordOf(ctx, entries[n]); records[n] != nil {
					records[n].listed = true
				}
			}
		})
	}
	readers.Wait()
	return slices.DeleteFunc(records, func(r *Record) bool { return r == nil })
}

func readAt(resourceVersion string) (dynamicstorage.ReadAt, error) {
	switch resourceVersion {
	case "":
		return dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent}, nil
	case "0":
		return dynamicstorage.ReadAt{Mode: dynamicstorage.Any}, nil
	}
	revision, err := strconv.ParseInt(resourceVersion, 10, 64)
	if err != nil {
		return dynamicstorage.ReadAt{}, fmt.Errorf("listing CustomResourceDefinitions at %q: %w", resourceVersion, err)
	}
	return dynamicstorage.ReadAt{Mode: dynamicstorage.NotOlderThan, Revision: revision}, nil
}

// listError converts an error to one that makes the reflector list again without a revision if its revision does not
// exist, for example after etcd was restored from a backup.
func listError(err error) error {
	var future *dynamicstorage.FutureRevisionError
	switch {
	case errors.As(err, &future):
		status := apierrors.NewTimeoutError(future.Error(), 1)
		status.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge,
			Message: future.Error()}}
		return status
	case errors.Is(err, dynamicstorage.ErrCompacted):
		return apierrors.NewResourceExpired("the revision to list at has been compacted")
	}
	return fmt.Errorf("listing CustomResourceDefinitions: %w", err)
}

// recordOf returns nil if the entry cannot be decoded.
func recordOf(ctx context.Context, entry *dynamicstorage.Entry) *Record {
	record, err := NewRecord(entry)
	if err != nil {
		klog.FromContext(ctx).Error(err, "Skipping a CustomResourceDefinition that cannot be read", "name", entry.Key,
			"revision", entry.Revision)
		return nil
	}
	return record
}

// recordList is the list of records that the reflector needs.
type recordList struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []*Record
}

// GetObjectKind makes the list an object.
func (l *recordList) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns a shallow copy: records are immutable.
func (l *recordList) DeepCopyObject() kruntime.Object {
	c := *l
	return &c
}
