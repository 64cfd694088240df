package discovery

import (
	"crypto/sha512"
	"fmt"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// groupList is all groups between two changes of discovery. Each part of it is computed by the first to ask.
type groupList struct {
	source *Discovery // nil: the empty list

	once   sync.Once
	groups []*group

	itemsOnce sync.Once
	items     []*item
	etag      string
	itemsErr  error

	indexOnce sync.Once
	index     []byte // of OpenAPI version 3
	indexErr  error
}

// noGroups is what /api lists.
func noGroups() *groupList { return &groupList{} }

func (d *Discovery) currentList() *groupList { return d.list.Load() }

// all returns the groups in the order clients see them: the built-in ones, whose priority is above the one all groups of
// custom resources share, then by name.
func (l *groupList) all() []*group {
	l.once.Do(func() {
		if l.source == nil {
			return
		}
		l.groups = append(l.groups, l.source.builtin...)
		for _, name := range l.source.table.Groups() {
			if g := l.source.group(name); g != nil && l.source.builtinGroup(name) == nil {
				l.groups = append(l.groups, g)
			}
		}
	})
	return l.groups
}

// aggregate encodes the groups for the aggregated list.
func (l *groupList) aggregate() error {
	l.itemsOnce.Do(func() {
		hash := sha512.New()
		for _, g := range l.all() {
			item, err := g.item()
			if err != nil {
				l.itemsErr = err
				return
			}
			for _, piece := range item.json {
				hash.Write(piece)
			}
			l.items = append(l.items, item)
		}
		l.etag = fmt.Sprintf("%X", hash.Sum(nil))
	})
	return l.itemsErr
}

// indexV3 lists the documents of OpenAPI version 3.
func (l *groupList) indexV3(d *documents) ([]byte, error) {
	l.indexOnce.Do(func() { l.index, l.indexErr = d.index(l.all()) })
	return l.index, l.indexErr
}

// legacy is the list as /apis shows it to clients that ask for nothing else.
func (l *groupList) legacy() *metav1.APIGroupList {
	out := &metav1.APIGroupList{Groups: []metav1.APIGroup{}}
	for _, g := range l.all() {
		out.Groups = append(out.Groups, *g.legacy())
	}
	return out
}

var aggregatedKind = apidiscoveryv2.SchemeGroupVersion.WithKind("APIGroupDiscoveryList")

// json returns the aggregated list, once aggregate has.
func (l *groupList) json() []byte {
	size := 0
	for _, item := range l.items {
		size += length(item.json) + 1
	}
	const around = 128
	body := fmt.Appendf(make([]byte, 0, size+around), `{"kind":%q,"apiVersion":%q,"metadata":{},"items":[`,
		aggregatedKind.Kind, aggregatedKind.GroupVersion().String())
	for n, item := range l.items {
		if n > 0 {
			body = append(body, ',')
		}
		for _, piece := range item.json {
			body = append(body, piece...)
		}
	}
	return append(body, "]}\n"...)
}

// protobufMagic is what the protobuf encoding of every Kubernetes object begins with.
var protobufMagic = []byte("k8s\x00")

// Numbers of fields in the protobuf encoding of APIGroupDiscoveryList.
const (
	listMetadata = 1
	listItems    = 2
)

// protobuf returns the aggregated list, once aggregate has.
func (l *groupList) protobuf() ([]byte, error) {
	meta, err := (&metav1.ListMeta{}).Marshal()
	if err != nil {
		return nil, fmt.Errorf("encoding the list of groups: %w", err)
	}
	size := 0
	const around = 16 // an item, and the list's metadata
	for _, item := range l.items {
		size += length(item.protobuf) + around
	}
	raw := appendMessage(make([]byte, 0, size+around), listMetadata, meta)
	for _, item := range l.items {
		raw = beginMessage(raw, listItems, length(item.protobuf))
		for _, piece := range item.protobuf {
			raw = append(raw, piece...)
		}
	}
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{
		APIVersion: aggregatedKind.GroupVersion().String(), Kind: aggregatedKind.Kind,
	}, Raw: raw}
	body, err := unknown.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encoding the list of groups: %w", err)
	}
	return append(append(make([]byte, 0, len(protobufMagic)+len(body)), protobufMagic...), body...), nil
}

func appendMessage(b []byte, field protowire.Number, message []byte) []byte {
	return append(beginMessage(b, field, len(message)), message...)
}

// beginMessage appends what comes before a message of so many bytes.
func beginMessage(b []byte, field protowire.Number, size int) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.BytesType), uint64(size))
}
