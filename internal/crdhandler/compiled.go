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

// compiled is what is made of a CRD's schemas; each part of it in turn on first use. It is immutable in what it answers,
// so that two of one CRD, of which one was evicted, may serve the same request.
type compiled struct {
	// definition is the CRD without its schemas.
	definition *apiextensionsv1.CustomResourceDefinition
	schemas    *validation.Set
	converter  *conversion.Converter

	mu     sync.Mutex // guards tables
	tables map[string]printing.TableConvertor
}

// compile reads a CRD but for its schemas: these are decoded when a part of them is compiled, unless there are some already.
func compile(config *Config, record *crds.Record, schemas *validation.Set) (*compiled, error) {
	definition, err := record.Outline()
	if err != nil {
		return nil, fmt.Errorf("decoding CustomResourceDefinition %s: %w", record.Name, err)
	}
	if schemas == nil {
		schemas = validation.NewFrom(definition, record.Internal)
	}
	converter, err := config.Converters.New(definition, schemas)
	if err != nil {
		return nil, fmt.Errorf("conversion of CustomResourceDefinition %s: %w", record.Name, err)
	}
	return &compiled{definition: definition, schemas: schemas, converter: converter}, nil
}

// bytesColumn is about what a printer column with its JSON path takes.
const bytesColumn = 2 << 10

// bytes says about how much memory has been taken so far.
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

// table returns the convertor for the columns of a version. Columns that cannot be parsed are answered with the default
// ones, as upstream does.
func (c *compiled) table(name string) (printing.TableConvertor, error) {
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

// compiledTypes is the type converter of a CRD for those who live longer than what is compiled of it.
type compiledTypes struct{ info *crdInfo }

func (t compiledTypes) ObjectToTyped(obj runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	compiled, err := t.info.compiled()
	if err != nil {
		return nil, err
	}
	converter, err := compiled.schemas.TypeConverter()
	if err != nil {
		return nil, err
	}
	return converter.ObjectToTyped(obj, options...)
}

func (t compiledTypes) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	compiled, err := t.info.compiled()
	if err != nil {
		return nil, err
	}
	converter, err := compiled.schemas.TypeConverter()
	if err != nil {
		return nil, err
	}
	return converter.TypedToObject(value)
}
