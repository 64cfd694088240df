package resource

import (
	"reflect"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Columns are the printed columns of objects of the type T. Objects of several types have the same columns if T is an
// interface. The name comes first, as with custom resources, unless a column of that name is among them.
type Columns[T any] []Column[T]

// Column is a printed column, as those of a CustomResourceDefinition. Its cells are the values of a field, unless a
// function returns them.
type Column[T any] struct {
	// Name is the heading. The column Age needs nothing else.
	Name string
	// Type and Format are those of OpenAPI. An empty type is string.
	Type, Format string
	// Wide columns are printed by kubectl get -o wide.
	Wide bool
	// Field is the path of the field, such as "spec.nodeName". "[*]" stands for all elements of a list.
	Field string
	// Doc describes the column. If it is empty, the documentation of the field does.
	Doc string
	// Empty is printed if the field has no value.
	Empty string
	// Cell returns the cell of an object.
	Cell func(obj T) any
	// InList, if set, returns Cell for the objects of a list. It is for cells that depend on the other objects.
	InList func(list []runtime.Object) func(obj T) any
}

// DefaultColumns are the columns of a resource that has none of its own.
var DefaultColumns = Columns[metav1.Object]{
	{Name: "Created At", Type: "date", Field: "metadata.creationTimestamp", Cell: func(obj metav1.Object) any {
		return obj.GetCreationTimestamp().UTC().Format(time.RFC3339)
	}},
}

// NameAndAge are the columns of some resources.
var NameAndAge = Columns[metav1.Object]{{Name: "Age"}}

// Printer returns a printer of objects that have the type of obj. It panics if a field does not exist.
func (c Columns[T]) Printer(obj runtime.Object) *Printer {
	return Converted[T]{func(obj runtime.Object) T { return obj.(T) }, c}.Printer(obj)
}

// Converted are columns of the values that objects are converted to.
type Converted[T any] struct {
	Convert func(obj runtime.Object) T
	Columns Columns[T]
}

// Printer returns a printer of objects that have the type of obj. It panics if a field does not exist.
func (c Converted[T]) Printer(obj runtime.Object) *Printer {
	p, columns := &Printer{}, slices.Clone(c.Columns)
	if !slices.ContainsFunc(columns, func(column Column[T]) bool { return column.Name == "Name" }) {
		columns = slices.Insert(columns, 0, Column[T]{Name: "Name"})
	}
	for n := range columns {
		p.definitions = append(p.definitions, columns[n].complete(reflect.TypeOf(c.Convert(obj))))
	}
	p.rows = func(list []runtime.Object) func(obj runtime.Object) []any {
		cells := make([]func(obj T) any, len(columns))
		for n, column := range columns {
			cells[n] = column.Cell
			if column.InList != nil && list != nil {
				cells[n] = column.InList(list)
			}
		}
		return func(obj runtime.Object) []any {
			converted, row := c.Convert(obj), make([]any, len(cells))
			for n, cell := range cells {
				row[n] = cell(converted)
			}
			return row
		}
	}
	return p
}

// complete sets Cell, and returns the definition of the column for objects of a type.
func (c *Column[T]) complete(of reflect.Type) metav1.TableColumnDefinition {
	switch {
	case c.Field != "":
	case c.Name == "Name":
		c.Field, c.Format = "metadata.name", "name"
	case c.Name == "Age":
		c.Field = "metadata.creationTimestamp"
	}
	d := metav1.TableColumnDefinition{Name: c.Name, Type: c.Type, Format: c.Format, Description: c.Doc}
	if c.Type == "" {
		d.Type = "string"
	}
	if c.Wide {
		d.Priority = 1
	}
	if c.Field == "" {
		return d
	}
	at, doc := findField(of, c.Field)
	if c.Doc == "" {
		d.Description = doc
	}
	if c.Cell == nil {
		empty := c.Empty
		c.Cell = func(obj T) any {
			value := at.in(reflect.ValueOf(obj))
			if empty != "" && value.IsZero() {
				return empty
			}
			return printValue(value)
		}
	}
	return d
}
