package storagesuite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/storage"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

var (
	scheme    = runtime.NewScheme()
	codec     runtime.Codec
	versioner = storage.APIObjectVersioner{}
)

func init() {
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	utilruntime.Must(example.AddToScheme(scheme))
	utilruntime.Must(examplev1.AddToScheme(scheme))
	codec = serializer.NewCodecFactory(scheme).LegacyCodec(examplev1.SchemeGroupVersion)
}

// resourcePrefix is the prefix of upstream's keys.
const resourcePrefix = "/pods/"

// adapter is a storage.Interface of example Pods on a dynamicstorage.Resource.
type adapter struct {
	prefix      string // in etcd
	store       *dynamicstorage.Store
	resource    *dynamicstorage.Resource
	viewer      *dynamicstorage.Viewer
	transformer *transformer

	// cold makes the resource cold before each use, unless another use runs.
	cold bool
	// settled makes a creation wait for its event, for tests that read any state afterwards.
	settled bool
	// used is read-locked by each use of the resource.
	used sync.RWMutex
}

var _ storage.Interface = &adapter{}

// use begins a use of the resource; the result ends it. Uses may be nested, because the write lock is only tried.
func (a *adapter) use() (done func()) {
	if a.cold && a.used.TryLock() {
		a.resource.Release()
		a.used.Unlock()
	}
	a.used.RLock()
	return a.used.RUnlock
}

func (a *adapter) Versioner() storage.Versioner { return versioner }

// key translates one of upstream's keys, which may have an empty namespace.
func key(of string, recursive bool) (string, error) {
	prepared, err := storage.PrepareKey(resourcePrefix, of, recursive)
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(strings.TrimPrefix(prepared, resourcePrefix), "/"), nil
}

func encode(obj runtime.Object) ([]byte, error) {
	obj = obj.DeepCopyObject()
	if err := versioner.PrepareObjectForStorage(obj); err != nil {
		return nil, err
	}
	encoded, err := runtime.Encode(codec, obj)
	return bytes.TrimRight(encoded, "\n"), err
}

// decode returns the object of a view.
func decode(view *dynamicstorage.View, revision int64) (*example.Pod, error) {
	if view.Err != nil {
		return nil, view.Err
	}
	pod := &example.Pod{}
	if err := runtime.DecodeInto(codec, view.Bytes, pod); err != nil {
		return nil, err
	}
	return pod, versioner.UpdateObject(pod, uint64(revision))
}

// object returns the object of an entry that was read.
func (a *adapter) object(ctx context.Context, e *dynamicstorage.Entry, revision int64) (*example.Pod, error) {
	if e.Err != nil {
		return nil, storage.NewInternalError(fmt.Errorf("unable to transform key %q: %w", resourcePrefix+e.Key, e.Err))
	}
	view, err := a.viewer.View(ctx, e)
	if err != nil {
		return nil, err
	}
	return decode(view, revision)
}

// show copies the object of an entry to out.
func (a *adapter) show(ctx context.Context, e *dynamicstorage.Entry, out runtime.Object) error {
	pod, err := a.object(ctx, e, e.Revision)
	if err != nil || out == nil {
		return err
	}
	return set(out, pod)
}

// set makes an object equal to another.
func set(out, to runtime.Object) error {
	target, err := conversion.EnforcePtr(out)
	if err == nil {
		target.Set(reflect.ValueOf(to).Elem())
	}
	return err
}

// views makes the views of Pods.
func views(_ context.Context, entries []*dynamicstorage.Entry) ([]*dynamicstorage.View, error) {
	made := make([]*dynamicstorage.View, len(entries))
	for n, e := range entries {
		view := &dynamicstorage.View{Bytes: e.Value}
		pod := &example.Pod{}
		if view.Err = runtime.DecodeInto(codec, e.Value, pod); view.Err == nil {
			view.Labels = dynamicstorage.PairsOf(pod.Labels)
			view.Fields = dynamicstorage.PairsOf(map[string]string{"spec.nodeName": pod.Spec.NodeName})
		}
		made[n] = view
	}
	return made, nil
}

// failure translates an error about an object, or about all if the key is empty.
func failure(err error, of string) error {
	var future *dynamicstorage.FutureRevisionError
	switch {
	case errors.Is(err, dynamicstorage.ErrNotFound):
		return storage.NewKeyNotFoundError(of, 0)
	case errors.As(err, &future):
		return storage.NewTooLargeResourceVersionError(uint64(future.Requested), uint64(future.Current), 1)
	case errors.Is(err, dynamicstorage.ErrCompacted):
		return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.")
	}
	return err
}

// readAt returns the state that a resourceVersion asks for.
func readAt(resourceVersion string) (dynamicstorage.ReadAt, error) {
	if resourceVersion == "" {
		return dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent}, nil
	}
	revision, err := versioner.ParseResourceVersion(resourceVersion)
	switch {
	case err != nil:
		return dynamicstorage.ReadAt{}, apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: %v", err))
	case revision == 0:
		return dynamicstorage.ReadAt{Mode: dynamicstorage.Any}, nil
	}
	return dynamicstorage.ReadAt{Mode: dynamicstorage.NotOlderThan, Revision: int64(revision)}, nil
}

func (a *adapter) Get(ctx context.Context, of string, opts storage.GetOptions, out runtime.Object) error {
	defer a.use()()
	name, err := key(of, false)
	if err != nil {
		return err
	}
	at, err := readAt(opts.ResourceVersion)
	if err != nil {
		return err
	}
	e, _, err := a.resource.Get(ctx, name, at)
	if errors.Is(err, dynamicstorage.ErrNotFound) && opts.IgnoreNotFound {
		return set(out, &example.Pod{})
	}
	if err != nil {
		return failure(err, of)
	}
	return a.show(ctx, e, out)
}

func (a *adapter) Create(ctx context.Context, of string, obj, out runtime.Object, _ uint64) error {
	defer a.use()()
	name, err := key(of, false)
	if err != nil {
		return err
	}
	if revision, err := versioner.ObjectResourceVersion(obj); err == nil && revision != 0 {
		return storage.ErrResourceVersionSetOnCreate
	}
	value, err := encode(obj)
	if err != nil {
		return err
	}
	created, err := a.resource.Update(ctx, name, func(_ context.Context,
		cur *dynamicstorage.Entry) (dynamicstorage.Change, error) {
		if cur != nil {
			return dynamicstorage.Change{}, storage.NewKeyExistsError(of, cur.Revision)
		}
		return dynamicstorage.Change{Op: dynamicstorage.Put, Value: value}, nil
	}, dynamicstorage.UpdateOptions{Absent: true})
	if err == nil && a.settled {
		err = a.store.WaitForRevision(ctx, created.Revision)
	}
	if err != nil || out == nil {
		return failure(err, of)
	}
	return a.show(ctx, created, out)
}

// The suggestion, which upstream's callers take from the cache, is left aside: an update begins with the cache by
// itself.
func (a *adapter) Delete(ctx context.Context, of string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, _ runtime.Object, opts storage.DeleteOptions) error {
	defer a.use()()
	name, err := key(of, false)
	if err != nil {
		return err
	}
	deleted, err := a.resource.Update(ctx, name, func(ctx context.Context,
		cur *dynamicstorage.Entry) (dynamicstorage.Change, error) {
		if cur == nil {
			return dynamicstorage.Change{Op: dynamicstorage.Delete}, nil
		}
		pod, err := a.object(ctx, cur, cur.Revision)
		switch {
		case opts.ExpectTransformOrDecodeError && err == nil:
			return dynamicstorage.Change{}, storage.NewInvalidObjError(of, "the object can be read")
		case opts.ExpectTransformOrDecodeError:
			pod = &example.Pod{}
		case err != nil:
			return dynamicstorage.Change{}, err
		default:
			if err := preconditions.Check(of, pod); err != nil {
				return dynamicstorage.Change{}, err
			}
		}
		return dynamicstorage.Change{Op: dynamicstorage.Delete}, validate(ctx, pod)
	}, dynamicstorage.UpdateOptions{})
	if err != nil {
		return failure(err, of)
	}
	if opts.ExpectTransformOrDecodeError {
		return nil
	}
	return a.show(ctx, deleted, out)
}

func (a *adapter) GuaranteedUpdate(ctx context.Context, of string, out runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, update storage.UpdateFunc, _ runtime.Object) error {
	defer a.use()()
	name, err := key(of, false)
	if err != nil {
		return err
	}
	updated, err := a.resource.Update(ctx, name, func(ctx context.Context,
		cur *dynamicstorage.Entry) (dynamicstorage.Change, error) {
		pod, response := &example.Pod{}, storage.ResponseMeta{}
		switch {
		case cur == nil && !ignoreNotFound:
			return dynamicstorage.Change{}, storage.NewKeyNotFoundError(of, 0)
		case cur != nil:
			var err error
			if pod, err = a.object(ctx, cur, cur.Revision); err != nil {
				return dynamicstorage.Change{}, err
			}
			response.ResourceVersion = uint64(cur.Revision)
		}
		if err := preconditions.Check(of, pod); err != nil {
			return dynamicstorage.Change{}, err
		}
		changed, _, err := update(pod, response)
		if err != nil {
			return dynamicstorage.Change{}, err
		}
		value, err := encode(changed)
		if err != nil || cur != nil && bytes.Equal(value, cur.Value) {
			return dynamicstorage.Change{Op: dynamicstorage.Keep}, err
		}
		return dynamicstorage.Change{Op: dynamicstorage.Put, Value: value}, nil
	}, dynamicstorage.UpdateOptions{})
	if err != nil {
		return failure(err, of)
	}
	return a.show(ctx, updated, out)
}

func (a *adapter) Stats(ctx context.Context) (storage.Stats, error) {
	defer a.use()()
	s, err := a.resource.Snapshot(ctx, dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent})
	if err != nil {
		return storage.Stats{}, err
	}
	n, err := s.Count(ctx, "", "")
	return storage.Stats{ObjectCount: n}, err
}

func (a *adapter) ReadinessCheck() error { return a.store.Ready(context.Background()) }

func (a *adapter) RequestWatchProgress(ctx context.Context) error {
	revision, err := a.store.CurrentRevision(ctx)
	if err != nil {
		return err
	}
	return a.store.WaitForRevision(ctx, revision)
}

func (a *adapter) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	revision, err := a.store.CurrentRevision(ctx)
	return uint64(revision), err
}

func (a *adapter) EnableResourceSizeEstimation(storage.KeysFunc) error { return nil }

func (a *adapter) CompactRevision() int64 { return a.store.CompactedRevision() }

func resourceVersion(revision int64) string { return strconv.FormatInt(revision, 10) }
