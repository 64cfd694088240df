package storagesuite

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"

	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

func (a *adapter) GetList(ctx context.Context, of string, opts storage.ListOptions, listObj runtime.Object) error {
	defer a.use()()
	list := listObj.(*example.PodList)
	prefix, err := key(of, opts.Recursive)
	if err != nil {
		return err
	}
	exact, from, err := storage.ValidateListOptions(prefix, versioner, opts)
	if err != nil {
		return err
	}
	at, err := readAt(opts.ResourceVersion)
	switch {
	case err != nil:
		return err
	case exact != 0:
		at = dynamicstorage.ReadAt{Mode: dynamicstorage.Exact, Revision: exact}
	case from != "":
		at = dynamicstorage.ReadAt{Mode: dynamicstorage.Consistent}
	}
	list.Items = []example.Pod{}
	if !opts.Recursive {
		return a.listOne(ctx, prefix, at, opts.Predicate, list)
	}
	page := page{adapter: a, prefix: prefix, from: from, opts: opts, list: list}
	err = page.read(ctx, at)
	if errors.Is(err, dynamicstorage.ErrCompacted) && from != "" {
		return expiredContinue(from, prefix)
	}
	return failure(err, of)
}

// listOne lists a single object.
func (a *adapter) listOne(ctx context.Context, name string, at dynamicstorage.ReadAt,
	selected storage.SelectionPredicate, list *example.PodList) error {
	e, revision, err := a.resource.Get(ctx, name, at)
	if errors.Is(err, dynamicstorage.ErrInvalidKey) { // the key of a namespace or of all objects
		var s *dynamicstorage.Snapshot
		if s, err = a.resource.Snapshot(ctx, at); err == nil {
			revision, err = s.Revision, dynamicstorage.ErrNotFound
		}
	}
	if err == nil {
		_, err = a.add(ctx, list, e, &selected)
	}
	if err != nil && !errors.Is(err, dynamicstorage.ErrNotFound) {
		return failure(err, name)
	}
	list.ResourceVersion = resourceVersion(revision)
	return nil
}

// add adds an entry to a list if it is selected.
func (a *adapter) add(ctx context.Context, list *example.PodList, e *dynamicstorage.Entry,
	selected *storage.SelectionPredicate) (bool, error) {
	pod, err := a.object(ctx, e, e.Revision)
	if err != nil {
		return false, err
	}
	matches, err := selected.Matches(pod)
	if matches {
		list.Items = append(list.Items, *pod)
	}
	return matches, err
}

// page is a part of a list.
type page struct {
	*adapter
	prefix, from string
	opts         storage.ListOptions
	list         *example.PodList
	last         string
}

func (p *page) read(ctx context.Context, at dynamicstorage.ReadAt) error {
	s, err := p.resource.Snapshot(ctx, at)
	if err != nil {
		return err
	}
	selected, more := p.opts.Predicate, false
	for e, err := range s.Ascend(ctx, p.prefix, p.from) {
		if err != nil {
			return err
		}
		if more = selected.Limit > 0 && int64(len(p.list.Items)) == selected.Limit; more {
			break
		}
		if _, err := p.add(ctx, p.list, e, &selected); err != nil {
			return err
		}
		p.last = e.Key
	}
	p.list.ResourceVersion = resourceVersion(s.Revision)
	if !more {
		return nil
	}
	remaining, err := s.Count(ctx, p.prefix, p.last)
	if err != nil {
		return err
	}
	p.list.Continue, p.list.RemainingItemCount, err = storage.PrepareContinueToken(resourcePrefix+p.last,
		resourcePrefix+p.prefix,
		s.Revision, remaining+selected.Limit, true, p.opts)
	return err
}

// expiredContinue is the answer to a token whose revision is gone: one that goes on from the same place.
func expiredContinue(from, prefix string) error {
	next, err := storage.EncodeContinue(resourcePrefix+from, resourcePrefix+prefix, -1)
	if err != nil {
		return err
	}
	expired := apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list " +
		"result.")
	expired.ErrStatus.ListMeta = metav1.ListMeta{Continue: next}
	return expired
}
