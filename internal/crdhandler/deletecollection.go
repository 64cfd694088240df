package crdhandler

import (
	"context"
	"fmt"
	"net/http"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/crd-server/crd-server/internal/budget"
	"github.com/crd-server/crd-server/internal/crdhandler/listing"
	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/crdhandler/stored"
	"github.com/crd-server/crd-server/internal/crdhandler/write"
	"github.com/crd-server/crd-server/internal/dynamicstorage"
)

// deleteCollection answers DELETE of a collection with the list of the objects as they were before (W17). It has no
// time limit, as a list has none.
func (s *requestScope) deleteCollection(w http.ResponseWriter, req *http.Request) {
	namespace, _ := s.target(req)
	answer, found, err := s.collectionDeleted(request.WithNamespace(req.Context(), namespace), req)
	if err != nil {
		s.err(err, w, req)
		return
	}
	if found == nil {
		answer.respond(w, http.StatusOK, stored.Answer{Obj: &metav1.Status{Status: metav1.StatusSuccess}})
		return
	}
	answer.respondList(w, found)
}

// collectionDeleted returns the deleted objects; nil if they cannot be converted to the version of the endpoint.
func (s *requestScope) collectionDeleted(
	ctx context.Context, req *http.Request,
) (answer responder, found *listing.Page, err error) {
	namespace, _ := s.target(req)
	if answer, err = s.negotiate(req); err != nil {
		return answer, nil, err
	}
	list, err := s.listOptions(req)
	if err != nil {
		return answer, nil, err
	}
	options, err := s.decodeDeleteOptions(ctx, req)
	if err != nil {
		return answer, nil, err
	}
	if ignoresReadErrors(options) {
		kind := schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}
		return answer, nil, apierrors.NewInvalid(kind, "", field.ErrorList{
			field.Invalid(field.NewPath("ignoreStoreReadErrorWithClusterBreakingPotential"), true,
				"is not allowed with DELETECOLLECTION, try again after removing the option")})
	}
	shown, unconverted, viewer := true, answer.deletesUnconverted(), answer.viewer()
	views := func(ctx context.Context, entries []*dynamicstorage.Entry) ([]*dynamicstorage.View, error) {
		made, err := viewer.Views(ctx, entries)
		if err == nil || !unconverted || ctx.Err() != nil {
			return made, err
		}
		shown = printing.IsMetadataOnly(answer.media)
		return s.Objects.ViewsAsStored(entries), nil
	}
	if found, err = s.readPage(ctx, namespace, list, views); err != nil {
		return answer, nil, err
	}
	workers := max(s.config.DeleteCollectionWorkers, 1)
	if err := answer.reserveForAll(ctx, found, workers); err != nil {
		return answer, nil, err
	}
	admission := s.Admission(ctx, write.Target{Namespace: namespace, DryRun: isDryRun(options.DryRun)})
	each := deletion{scope: s, options: options, admit: admission.AdmitDelete, unconverted: unconverted}
	err = each.all(ctx, found, workers)
	if !shown {
		found = nil
	}
	return answer, found, finished(ctx, err)
}

// reserveForAll reserves the memory to delete the objects of a page, as many at a time as there are workers, and to
// answer with them: afterwards it is too late to refuse the request.
func (r responder) reserveForAll(ctx context.Context, found *listing.Page, workers int) error {
	size := 0
	for _, entry := range found.Entries {
		size = max(size, len(entry.Value))
	}
	size *= workers
	if !r.copies() {
		size = max(size, found.Size())
	}
	return budget.Reserve(ctx, size)
}

// all deletes the objects of a page as d says, a few at a time. After a failure it begins no other deletion; deleted
// objects stay deleted.
func (d deletion) all(ctx context.Context, found *listing.Page, workers int) error {
	group, unfailed := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for _, entry := range found.Entries {
		if unfailed.Err() != nil {
			break
		}
		group.Go(func() error {
			if unfailed.Err() != nil {
				return nil
			}
			// The failure of one deletion does not interrupt the others that have begun.
			return d.of(entry.Key).runRecovered(ctx)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// of returns the deletion with the same options of another object.
func (d deletion) of(key string) *deletion {
	d.key, d.options = key, d.options.DeepCopy()
	return &d
}

// runRecovered deletes an object unless it was deleted meanwhile. A panic becomes an error: outside of the request's
// goroutine it would end the server.
// See docs/upstream.md, "A panic in a deletion worker ends the process".
func (d *deletion) runRecovered(ctx context.Context) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = apierrors.NewInternalError(fmt.Errorf("panic: %v", reason))
		}
	}()
	if _, err := d.run(ctx); !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}
