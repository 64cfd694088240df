package crdhandler

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// table returns an object or a list as rows of printed columns. Each row carries what includeObject says: the object,
// its metadata, or nothing (P2).
func (t transformer) table(ctx context.Context, obj runtime.Object) (*metav1.Table, error) {
	convertor, err := t.scope.table()
	if err != nil {
		return nil, err
	}
	table, err := convertor.ConvertToTable(ctx, obj, t.options)
	if err != nil {
		return nil, err
	}
	for n := range table.Rows {
		if err := t.includeObject(&table.Rows[n].Object); err != nil {
			return nil, err
		}
	}
	return table, nil
}

// tableChunk is the number of objects decoded at a time for a Table: decoded they take several times their JSON.
const tableChunk = 200

// tableOfPage returns a page as a Table. No more than a chunk of objects is decoded at a time, unless the rows carry them.
func (t transformer) tableOfPage(ctx context.Context, p *page) (runtime.Object, error) {
	var table *metav1.Table
	for start := 0; table == nil || start < len(p.entries); start += tableChunk {
		chunk := *p
		end := min(start+tableChunk, len(p.entries))
		chunk.entries, chunk.views = p.entries[start:end], p.views[start:end]
		list, err := t.scope.listObject(&chunk)
		if err != nil {
			return nil, err
		}
		rows, err := t.table(ctx, list)
		if err != nil {
			return nil, err
		}
		if table == nil {
			table = rows
			continue
		}
		table.Rows = append(table.Rows, rows.Rows...)
	}
	return table, nil
}

func (t transformer) includeObject(row *runtime.RawExtension) error {
	m, err := meta.Accessor(row.Object)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("unable to determine if the obj has the required annotation, err: %w", err))
	}
	include := t.options.IncludeObject
	// The bookmark that ends the initial events is told by its annotation, which no client may lose.
	endsInitialEvents := m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
	switch {
	case include == metav1.IncludeObject:
		row.Object, err = t.scope.objects.convertor.ConvertToVersion(row.Object, t.scope.kind.GroupVersion())
		return err
	case include == metav1.IncludeMetadata, include == "", endsInitialEvents:
		row.Object = partialMetadata(m, t.target.GroupVersion())
	case include == metav1.IncludeNone:
		row.Object = nil
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("unrecognized includeObject value: %q", include))
	}
	return nil
}
