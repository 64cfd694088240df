package crdhandler

import (
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/crd-server/crd-server/internal/conversion"
	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/validation"
)

// compiled is everything compiled from the schemas of one CRD, each part on its first use. The same CRD always compiles
// to the same result, so a request may use an evicted compiled and its successor.
type compiled struct {
	// definition is the CRD without its schemas.
	definition *apiextensionsv1.CustomResourceDefinition
	schemas    *validation.Set
	converter  *conversion.Converter

	mu     sync.Mutex // guards tables
	tables map[string]printing.TableConvertor
}

// compile decodes a CRD without its schemas. A schema is decoded when a part of it is compiled.
func compile(config *Config, record *crds.Record) (*compiled, error) {
	definition, err := record.Outline()
	if err != nil {
		return nil, fmt.Errorf("decoding CustomResourceDefinition %s: %w", record.Name, err)
	}
	schemas := validation.NewLazy(definition, record.Internal)
	converter, err := config.Converters.New(definition, schemas)
	if err != nil {
		return nil, fmt.Errorf("conversion of CustomResourceDefinition %s: %w", record.Name, err)
	}
	return &compiled{definition: definition, schemas: schemas, converter: converter}, nil
}

// bytesColumn is the approximate size of a compiled printer column.
const bytesColumn = 2 << 10

// bytes returns approximately how much memory the parts compiled so far take.
func (c *compiled) bytes() int64 {
	bytes := c.schemas.Bytes()
	for n := range c.definition.Spec.Versions {
		bytes += int64(len(c.definition.Spec.Versions[n].AdditionalPrinterColumns)) * bytesColumn
	}
	return bytes
}

// version returns a version of the CRD.
func (c *compiled) version(name string) (*validation.Version, error) {
	v := c.schemas.Version(name)
	if v == nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s has no version %q", c.definition.Name, name)
	}
	return v, nil
}

// columns returns the convertor for the printer columns of a version: the library's, which computes the cells. If the
// columns cannot be parsed, it returns the default ones, as upstream does.
func (c *compiled) columns(name string) (printing.TableConvertor, error) {
	v, err := c.version(name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if table, ok := c.tables[name]; ok {
		return table, nil
	}
	table, err := tableconvertor.New(v.Columns())
	if err != nil {
		klog.V(2).InfoS("Printer columns cannot be parsed; using the default ones", "version", name, "err", err)
	}
	if c.tables == nil {
		c.tables = map[string]printing.TableConvertor{}
	}
	c.tables[name] = table
	return table, nil
}

// compiledTypes is the type converter of a CRD for callers that outlive an eviction from the schema cache.
type compiledTypes struct{ info *crdInfo }

func (t compiledTypes) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	compiled, err := t.info.compiled()
	if err != nil {
		return nil, err
	}
	return compiled.schemas.TypeConverter().ObjectToTyped(obj, options...)
}

func (t compiledTypes) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	compiled, err := t.info.compiled()
	if err != nil {
		return nil, err
	}
	return compiled.schemas.TypeConverter().TypedToObject(value)
}
