package schemas

import (
	"container/list"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/klog/v2"

	"github.com/crd-server/crd-server/internal/conversion"
	"github.com/crd-server/crd-server/internal/crdhandler/printing"
	"github.com/crd-server/crd-server/internal/crds"
	"github.com/crd-server/crd-server/internal/validation"
)

// defaultBytes holds the compiled schemas of about five hundred large CRDs.
const defaultBytes = 256 << 20

// Cache bounds the memory of compiled schemas. When they take more than limit bytes, it evicts the least recently
// used ones, which are compiled again on their next use. A request that uses evicted schemas keeps them until it ends.
type Cache struct {
	limit int64

	mu      sync.Mutex // guards the fields below and those of lru's elements, but is not held while compiling
	bytes   int64
	evicted int64
	lru     *list.List // of *Cached that hold a value, the most recently used in front
}

// NewCache returns a cache with a limit in bytes; 0 or less means 256 MiB.
func NewCache(limit int64) *Cache {
	if limit <= 0 {
		limit = defaultBytes
	}
	return &Cache{limit: limit, lru: list.New()}
}

// Add returns the cached schemas of one CRD, which call compile when the cache holds none.
func (c *Cache) Add(compile func() (*Compiled, error)) *Cached {
	return &Cached{cache: c, compile: compile}
}

// Cached holds the compiled schemas of one CRD unless they have been evicted.
type Cached struct {
	cache   *Cache
	compile func() (*Compiled, error)

	compiling sync.Mutex // held while compiling, so that concurrent requests compile once

	// The cache's mu guards the fields below.
	value   *Compiled
	element *list.Element // in cache.lru; nil without a value
	bytes   int64         // counted in cache.bytes
	retired bool          // the CRD has changed: nothing is cached any more
}

// Get returns the compiled schemas of the CRD. They stay usable after an eviction.
func (s *Cached) Get() (*Compiled, error) {
	if value := s.cached(); value != nil {
		return value, nil
	}
	s.compiling.Lock()
	defer s.compiling.Unlock()
	if value := s.cached(); value != nil {
		return value, nil
	}
	value, err := s.compile()
	if err != nil {
		return nil, err
	}
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.retired {
		s.value, s.element = value, c.lru.PushFront(s)
		s.resizeLocked()
	}
	return value, nil
}

// Version returns the compiled schema of a version.
func (s *Cached) Version(name string) (*validation.Version, error) {
	compiled, err := s.Get()
	if err != nil {
		return nil, err
	}
	return compiled.Version(name)
}

// Columns returns the convertor for the printer columns of a version: the library's, which computes the cells. If the
// columns cannot be parsed, it returns the default ones, as upstream does.
func (s *Cached) Columns(version string) (printing.TableConvertor, error) {
	v, err := s.Version(version)
	if err != nil {
		return nil, err
	}
	table, err := tableconvertor.New(v.Columns())
	if err != nil {
		klog.V(2).InfoS("Printer columns cannot be parsed; using the default ones", "version", version, "err", err)
	}
	return table, nil
}

// cached returns the value and marks it as used, or returns nil.
func (s *Cached) cached() *Compiled {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.value != nil {
		c.lru.MoveToFront(s.element)
	}
	return s.value
}

// UpdateSize counts the parts that have been compiled since the last call and evicts other schemas if necessary.
// Requests compile parts as they need them, so it is called at the end of each request.
func (s *Cached) UpdateSize() {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	if s.value != nil {
		s.resizeLocked()
	}
}

// resizeLocked never evicts s itself, even if it is larger than the limit.
func (s *Cached) resizeLocked() {
	c := s.cache
	c.lru.MoveToFront(s.element)
	bytes := s.value.Set.Bytes()
	c.bytes += bytes - s.bytes
	s.bytes = bytes
	for c.bytes > c.limit {
		last := c.lru.Back().Value.(*Cached)
		if last == s {
			break
		}
		last.removeLocked()
		c.evicted++
	}
}

func (s *Cached) removeLocked() {
	if s.value == nil {
		return
	}
	s.cache.lru.Remove(s.element)
	s.cache.bytes -= s.bytes
	s.value, s.element, s.bytes = nil, nil, 0
}

// Retire removes the schemas for good because their CRD has changed.
func (s *Cached) Retire() {
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	s.removeLocked()
	s.retired = true
}

// Compiled is everything compiled from the schemas of one CRD, each part on its first use. The same CRD always compiles
// to the same result, so a request may use an evicted Compiled and its successor.
type Compiled struct {
	// Definition is the CRD without its schemas.
	Definition *apiextensionsv1.CustomResourceDefinition
	Set        *validation.Set
	Converter  *conversion.Converter
}

// Compile decodes a CRD without its schemas. A schema is decoded when a part of it is compiled.
func Compile(converters *conversion.Factory, record *crds.Record) (*Compiled, error) {
	definition, err := record.Outline()
	if err != nil {
		return nil, fmt.Errorf("decoding CustomResourceDefinition %s: %w", record.Name, err)
	}
	set := validation.New(definition, record.Internal)
	converter, err := converters.New(definition, set)
	if err != nil {
		return nil, fmt.Errorf("conversion of CustomResourceDefinition %s: %w", record.Name, err)
	}
	return &Compiled{Definition: definition, Set: set, Converter: converter}, nil
}

// Version returns a version of the CRD.
func (c *Compiled) Version(name string) (*validation.Version, error) {
	v := c.Set.Version(name)
	if v == nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s has no version %q", c.Definition.Name, name)
	}
	return v, nil
}

// The metrics have no label for the CRD: the number of CRDs has no limit.
var (
	cachedBytes = prometheus.NewDesc("crd_server_schema_cache_bytes",
		"[ALPHA] About how much memory compiled schemas take, see --schema-cache-size.", nil, nil)
	evictions = prometheus.NewDesc("crd_server_schema_cache_evictions_total", "[ALPHA] How often the compiled schemas "+
		"of a CustomResourceDefinition were given up to make room for others.", nil, nil)
)

var _ prometheus.Collector = &Cache{}

// Describe implements prometheus.Collector.
func (c *Cache) Describe(ch chan<- *prometheus.Desc) {
	ch <- cachedBytes
	ch <- evictions
}

// Collect implements prometheus.Collector.
func (c *Cache) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	bytes, evicted := c.bytes, c.evicted
	c.mu.Unlock()
	ch <- prometheus.MustNewConstMetric(cachedBytes, prometheus.GaugeValue, float64(bytes))
	ch <- prometheus.MustNewConstMetric(evictions, prometheus.CounterValue, float64(evicted))
}
