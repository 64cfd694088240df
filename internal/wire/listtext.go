package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

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
