package resource

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Columns are the printed columns of a resource.
type Columns struct {
	Definitions []metav1.TableColumnDefinition
	// Cells returns the cells of an object, one for each definition.
	Cells func(obj runtime.Object) []any
	// CellsInList, if set, returns Cells for the objects of a list that depend on the others.
	CellsInList func(items []runtime.Object) func(obj runtime.Object) []any
}

// DefaultColumns are the columns of a resource that has none of its own: the name and the time of creation, as
// kube-apiserver prints them.
var DefaultColumns = &Columns{
	Definitions: []metav1.TableColumnDefinition{NameColumn, {
		Name: "Created At", Type: "date", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"],
	}},
	Cells: func(obj runtime.Object) []any {
		m, err := meta.Accessor(obj)
		if err != nil {
			return nil
		}
		return []any{m.GetName(), m.GetCreationTimestamp().UTC().Format(time.RFC3339)}
	},
}

// NameColumn and AgeColumn are columns of nearly every resource. Their descriptions are kube-apiserver's.
var (
	NameColumn = metav1.TableColumnDefinition{
		Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"],
	}
	AgeColumn = metav1.TableColumnDefinition{
		Name: "Age", Type: "string", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"],
	}
)

// TextColumn returns a column of the type string.
func TextColumn(name, description string) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "string", Description: description}
}

// Age returns the cell of AgeColumn.
func Age(obj metav1.Object) string {
	return table.ConvertToHumanReadableDateType(obj.GetCreationTimestamp())
}

// ConvertToTable returns an object or a list as rows of the columns.
func (c *Columns) ConvertToTable(_ context.Context, obj, tableOptions runtime.Object) (*metav1.Table, error) {
	out := &metav1.Table{}
	if options, ok := tableOptions.(*metav1.TableOptions); !ok || options == nil || !options.NoHeaders {
		out.ColumnDefinitions = c.Definitions
	}
	if list, err := meta.ListAccessor(obj); err == nil {
		out.ResourceVersion = list.GetResourceVersion()
		out.Continue = list.GetContinue()
		out.RemainingItemCount = list.GetRemainingItemCount()
	} else if m, err := meta.CommonAccessor(obj); err == nil {
		out.ResourceVersion = m.GetResourceVersion()
	}
	var err error
	cellsOf := c.Cells
	if c.CellsInList != nil && meta.IsListType(obj) {
		items, err := meta.ExtractList(obj)
		if err != nil {
			return nil, err
		}
		cellsOf = c.CellsInList(items)
	}
	out.Rows, err = table.MetaToTableRow(obj, func(item runtime.Object, _ metav1.Object, _, _ string) ([]any, error) {
		cells := cellsOf(item)
		if len(cells) != len(c.Definitions) {
			return nil, fmt.Errorf("%T has %d columns and %d cells", item, len(c.Definitions), len(cells))
		}
		return cells, nil
	})
	return out, err
}
