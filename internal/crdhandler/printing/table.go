package printing

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/crd-server/crd-server/internal/crdhandler/listing"
)

// table returns an object or a list as rows of printed columns. Each row carries what includeObject says: the object,
// its metadata, or nothing (P2).
func (p Printer) table(ctx context.Context, obj runtime.Object) (*metav1.Table, error) {
	convertor, err := p.endpoint.Table()
	if err != nil {
		return nil, err
	}
	table, err := convertor.ConvertToTable(ctx, obj, p.options)
	if err != nil {
		return nil, err
	}
	for n := range table.Rows {
		if err := p.setRowObject(&table.Rows[n].Object); err != nil {
			return nil, err
		}
	}
	return table, nil
}

// tableChunk is the number of objects that tableOfPage decodes at a time: a decoded object takes several times the
// memory of its JSON.
const tableChunk = 200

// tableOfPage returns a page as a Table. It holds no more than one chunk of decoded objects, unless the rows carry
// them.
func (p Printer) tableOfPage(
	ctx context.Context, page *listing.Page, decode func(*listing.Page) (runtime.Object, error),
) (runtime.Object, error) {
	var table *metav1.Table
	for start := 0; table == nil || start < len(page.Entries); start += tableChunk {
		list, err := decode(page.Slice(start, tableChunk))
		if err != nil {
			return nil, err
		}
		rows, err := p.table(ctx, list)
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

// setRowObject replaces the object of a row by what includeObject says.
func (p Printer) setRowObject(row *runtime.RawExtension) error {
	m, err := meta.Accessor(row.Object)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("unable to determine if the obj has the required annotation, err: %w",
			err))
	}
	include := p.options.IncludeObject
	// Clients recognise the bookmark after the initial events by its annotation, so its row always has metadata.
	endsInitialEvents := m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
	switch {
	case include == metav1.IncludeObject:
		row.Object, err = p.endpoint.Convertor.ConvertToVersion(row.Object, p.endpoint.Kind.GroupVersion())
		return err
	case include == metav1.IncludeMetadata, include == "", endsInitialEvents:
		row.Object = partialMetadata(m, p.target.GroupVersion())
	case include == metav1.IncludeNone:
		row.Object = nil
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("unrecognized includeObject value: %q", include))
	}
	return nil
}

// WithoutHeaders returns the printer for the Tables of a watch after the first: they have no column definitions (H7).
func (p Printer) WithoutHeaders() Printer {
	if p.options == nil || p.options.NoHeaders {
		return p
	}
	options := *p.options
	options.NoHeaders = true
	p.options = &options
	return p
}
