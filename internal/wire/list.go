package wire

import (
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
