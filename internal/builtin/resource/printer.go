package resource

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Printer prints objects of one type as a Table.
type Printer struct {
	definitions []metav1.TableColumnDefinition
	// rows returns the function that prints the objects of a list, which is nil for a single object.
	rows func(list []runtime.Object) func(obj runtime.Object) []any
}

// ConvertToTable returns an object or a list as rows of the columns.
func (p *Printer) ConvertToTable(_ context.Context, obj, tableOptions runtime.Object) (*metav1.Table, error) {
	out := &metav1.Table{}
	if options, ok := tableOptions.(*metav1.TableOptions); !ok || options == nil || !options.NoHeaders {
		out.ColumnDefinitions = p.definitions
	}
	if list, err := meta.ListAccessor(obj); err == nil {
		out.ResourceVersion = list.GetResourceVersion()
		out.Continue = list.GetContinue()
		out.RemainingItemCount = list.GetRemainingItemCount()
	} else if m, err := meta.CommonAccessor(obj); err == nil {
		out.ResourceVersion = m.GetResourceVersion()
	}
	var items []runtime.Object
	var err error
	if meta.IsListType(obj) {
		if items, err = meta.ExtractList(obj); err != nil {
			return nil, err
		}
	}
	row := p.rows(items)
	out.Rows, err = table.MetaToTableRow(obj, func(item runtime.Object, _ metav1.Object, _, _ string) ([]any, error) {
		return row(item), nil
	})
	return out, err
}
