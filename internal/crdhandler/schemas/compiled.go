package schemas

import (
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/conversion"
	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/validation"
)

// Compiled is everything compiled from the schemas of one CRD, each part on its first use. The same CRD always compiles
// to the same result, so a request may use an evicted Compiled and its successor.
type Compiled struct {
	// Definition is the CRD without its schemas.
	Definition *apiextensionsv1.CustomResourceDefinition
	Set        *validation.Set
	Converter  *conversion.Converter

	mu     sync.Mutex // guards tables
	tables map[string]printing.TableConvertor
}

// Compile decodes a CRD without its schemas. A schema is decoded when a part of it is compiled.
func Compile(converters *conversion.Factory, record *crds.Record) (*Compiled, error) {
	definition, err := record.Outline()
	if err != nil {
		return nil, fmt.Errorf("decoding CustomResourceDefinition %s: %w", record.Name, err)
	}
	set := validation.NewLazy(definition, record.Internal)
	converter, err := converters.New(definition, set)
	if err != nil {
		return nil, fmt.Errorf("conversion of CustomResourceDefinition %s: %w", record.Name, err)
	}
	return &Compiled{Definition: definition, Set: set, Converter: converter}, nil
}

// bytesColumn is the approximate size of a compiled printer column.
const bytesColumn = 2 << 10

// bytes returns approximately how much memory the parts compiled so far take.
func (c *Compiled) bytes() int64 {
	bytes := c.Set.Bytes()
	for n := range c.Definition.Spec.Versions {
		bytes += int64(len(c.Definition.Spec.Versions[n].AdditionalPrinterColumns)) * bytesColumn
	}
	return bytes
}

// Version returns a version of the CRD.
func (c *Compiled) Version(name string) (*validation.Version, error) {
	v := c.Set.Version(name)
	if v == nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s has no version %q", c.Definition.Name, name)
	}
	return v, nil
}

// Columns returns the convertor for the printer columns of a version: the library's, which computes the cells. If the
// columns cannot be parsed, it returns the default ones, as upstream does.
func (c *Compiled) Columns(name string) (printing.TableConvertor, error) {
	v, err := c.Version(name)
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
