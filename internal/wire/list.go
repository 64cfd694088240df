package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// List is a list without its items.
type List struct {
	APIVersion, Kind string
	ResourceVersion  string
	Continue         string
	// RemainingItemCount is nil when it is not known.
	RemainingItemCount *int64
	// Typed writes the list as encoding/json writes a Go type: metadata before the items, and no kind and apiVersion
	// in the items.
	Typed bool
	// ItemKind is the kind of the items of a typed list.
	ItemKind string
	// Protobuf says that the list and its items are protobuf, not JSON. ItemsSize is then the number of bytes of the
	// items (ProtobufItems).
	Protobuf  bool
	ItemsSize int
	// Pretty indents.
	Pretty bool
}

// pieceSize is the number of bytes of a list that are written at once. Larger pieces are not measurably faster over
// TLS and HTTP/2, and each slow reader holds one.
const pieceSize = 32 << 10

// maxPooledPiece keeps buffers that very large objects have grown from being held for small ones.
const maxPooledPiece = 4 * pieceSize

// pieces are buffers of somewhat more than pieceSize.
var pieces = sync.Pool{New: func() any {
	piece := make([]byte, 0, pieceSize+pieceSize/4)
	return &piece
}}

func giveBack(buffer *[]byte, piece []byte) {
	if cap(piece) <= maxPooledPiece {
		*buffer = piece
	}
	pieces.Put(buffer)
}

// Write writes the list in pieces, so that it is never in memory as a whole. Layout and order of members are those of
// runtime's encoder for unstructured lists or, with Typed, for typed ones.
func (l List) Write(w io.Writer, items iter.Seq[Object]) error {
	buffer := pieces.Get().(*[]byte)
	piece := l.AppendHead((*buffer)[:0])
	defer func() { giveBack(buffer, piece) }()
	cut, filled := l.cut(), false
	for item := range items {
		var err error
		if piece, err = l.appendItem(piece, item, cut, filled); err != nil {
			return err
		}
		filled = true
		if len(piece) < pieceSize {
			continue
		}
		if _, err := w.Write(piece); err != nil {
			return fmt.Errorf("writing list: %w", err)
		}
		piece = piece[:0]
	}
	piece = l.AppendTail(piece, filled)
	if _, err := w.Write(piece); err != nil {
		return fmt.Errorf("writing list: %w", err)
	}
	return nil
}

// Longer says whether the list has more than limit bytes. It stops as soon as it knows.
func (l List) Longer(limit int, items iter.Seq[Object]) (bool, error) {
	err := l.Write(&allowance{left: limit}, items)
	if errors.Is(err, errSpent) {
		return true, nil
	}
	return false, err
}

// allowance discards what is written and fails after a number of bytes.
type allowance struct{ left int }

var errSpent = errors.New("more bytes than allowed")

func (a *allowance) Write(p []byte) (int, error) {
	if a.left -= len(p); a.left < 0 {
		return 0, errSpent
	}
	return len(p), nil
}

// MediaType returns the media type of the list.
func (l List) MediaType() string {
	if l.Protobuf {
		return runtime.ContentTypeProtobuf
	}
	return JSON
}

// Deflate compresses items as the list has them, with Separator between them. The list must not be Pretty.
func (l List) Deflate(items iter.Seq[Object]) Deflated {
	d := takeDeflater()
	defer d.giveBack()
	cut := l.cut()
	for item := range items {
		d.text, _ = l.appendItem(d.text, item, cut, len(d.text) > 0) // only indenting can fail
	}
	return d.deflate(d.text)
}

// untypedList has the members of a list in the order in which runtime's encoder writes unstructured lists.
type untypedList struct {
	APIVersion string          `json:"apiVersion"`
	Items      []struct{}      `json:"items"`
	Kind       string          `json:"kind"`
	Metadata   untypedMetadata `json:"metadata"`
}

type untypedMetadata struct {
	Continue           string `json:"continue"`
	RemainingItemCount *int64 `json:"remainingItemCount,omitempty"`
	ResourceVersion    string `json:"resourceVersion"`
}

// typedList has the members of a list in the order of Go types.
type typedList struct {
	Kind       string        `json:"kind"`
	APIVersion string        `json:"apiVersion"`
	Metadata   typedMetadata `json:"metadata"`
	Items      []struct{}    `json:"items"`
}

type typedMetadata struct {
	ResourceVersion    string `json:"resourceVersion"`
	Continue           string `json:"continue,omitempty"`
	RemainingItemCount *int64 `json:"remainingItemCount,omitempty"`
}

// around returns the texts before and after the items: what encoding/json writes of an empty list, cut inside the
// brackets. The compact form ends with a newline, the indented one does not.
func (l List) around() (head, tail []byte) {
	if l.Protobuf {
		return l.aroundProtobuf()
	}
	var list any = untypedList{APIVersion: l.APIVersion, Kind: l.Kind, Items: []struct{}{}, Metadata: untypedMetadata{
		Continue: l.Continue, RemainingItemCount: l.RemainingItemCount, ResourceVersion: l.ResourceVersion,
	}}
	if l.Typed {
		list = typedList{APIVersion: l.APIVersion, Kind: l.Kind, Items: []struct{}{}, Metadata: typedMetadata{
			Continue: l.Continue, RemainingItemCount: l.RemainingItemCount, ResourceVersion: l.ResourceVersion,
		}}
	}
	// Neither fails, and strings have no quotes that are not escaped.
	opening, encoded := `"items":[`, []byte(nil)
	if l.Pretty {
		opening = `"items": [`
		encoded, _ = json.MarshalIndent(list, "", indent)
	} else {
		encoded, _ = json.Marshal(list)
		encoded = append(encoded, '\n')
	}
	at := bytes.Index(encoded, []byte(opening)) + len(opening)
	return encoded[:at], encoded[at:]
}

// AppendHead appends the text before the items.
func (l List) AppendHead(dst []byte) []byte {
	head, _ := l.around()
	return append(dst, head...)
}

// AppendTail appends the text after the items. filled says that there are items.
func (l List) AppendTail(dst []byte, filled bool) []byte {
	if l.Pretty && filled {
		dst = append(dst, "\n"+indent...)
	}
	_, tail := l.around()
	return append(dst, tail...)
}

// cut returns the members that items are written without.
func (l List) cut() []byte {
	if !l.Typed {
		return nil
	}
	return fmt.Appendf(nil, `"kind":%q,"apiVersion":%q,`, l.ItemKind, l.APIVersion)
}

// Separator returns the text between two items of a list that is not Pretty.
func (l List) Separator() []byte {
	if l.Protobuf {
		return nil
	}
	return []byte{','}
}

// appendItem appends an item without the members in cut. filled says that it is not the first one.
func (l List) appendItem(dst []byte, o Object, cut []byte, filled bool) ([]byte, error) {
	if l.Protobuf {
		return o.appendProtobufItem(dst), nil
	}
	if filled {
		dst = append(dst, ',')
	}
	if !l.Pretty {
		return o.appendWithout(dst, cut), nil
	}
	const margin = indent + indent
	dst = append(dst, "\n"+margin...)
	indented := bytes.NewBuffer(dst)
	if err := json.Indent(indented, o.appendWithout(nil, cut), margin, indent); err != nil {
		return dst, fmt.Errorf("indenting object: %w", err)
	}
	return indented.Bytes(), nil
}
