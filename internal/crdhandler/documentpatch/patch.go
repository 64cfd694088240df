package documentpatch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	"github.com/crd-server/crd-server/internal/objectjson"
)

const (
	// maxOperations is how many operations a JSON patch may have.
	maxOperations = 10000
	// MaxCopies is how many bytes the copy operations of a JSON patch may add up to: kube-apiserver's limit. The library
	// has it as a variable for the whole process, jsonpatch.AccumulatedCopySizeLimit, which only the command sets. See
	// docs/upstream.md, "Limits are process-wide variables".
	MaxCopies = 3 << 20
	// bytesBetweenChecks is how many bytes, of operations multiplied by documents, are processed between two looks at
	// the context: about a second of work.
	bytesBetweenChecks = 256 << 20
	// maxDescent is the product of the levels that a patch goes down and the bytes of document and patch: the library
	// copies the rest of the document at each level. See docs/upstream.md, "A copy of the rest at each level".
	maxDescent = 32 << 20
	// maxValues is how many members and items a merge patch may have: the library makes a node of 100 bytes for each.
	maxValues = 400_000
	// maxGrowth is how many times larger a text may become by the library's escapes.
	maxGrowth = 6
)

// Patch is a JSON patch (RFC 6902) or a merge patch (RFC 7386).
type Patch struct {
	Type types.PatchType
	Body []byte
	// Strict finds unknown and duplicate fields in the patch itself.
	Strict bool
}

// operation names the members that an operation of a JSON patch may have.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// errUnusable answers a patch that the library panics on.
var errUnusable = errors.New("the patch cannot be applied to the object")

// Unprocessable returns the answer to a patch that is well-formed and cannot be applied.
func Unprocessable(err error) error {
	return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(),
		0, false)
}

// Apply returns the patched document, and the fields that strict decoding has found in the patch. The error is an API
// error or that of the context.
func (p Patch) Apply(ctx context.Context, document []byte) (patched []byte, found []error, err error) {
	defer func() {
		// See docs/upstream.md, "Panics of json-patch": it panics on a test operation without a value, for instance.
		if cause := recover(); cause != nil {
			patched, found, err = nil, nil, Unprocessable(errUnusable)
		}
	}()
	if p.Type == types.JSONPatchType {
		return p.applyOperations(ctx, document)
	}
	if p.Strict {
		members := map[string]any{}
		if found, err = kjson.UnmarshalStrict(p.Body, &members); err != nil {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if err := checkDescent(depth(p.Body, len(document)), len(document)+len(p.Body)); err != nil {
		return nil, nil, err
	}
	if values := bytes.Count(p.Body, []byte(",")); values > maxValues && objectjson.ShapeOf(p.Body).Commas > maxValues {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("a merge patch may have %d values", maxValues))
	}
	patched, err = jsonpatch.MergePatch(document, p.Body)
	if errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	return patched, found, err
}

func (p Patch) applyOperations(ctx context.Context, document []byte) (patched []byte, found []error, err error) {
	if p.Strict {
		var operations []operation
		if found, err = kjson.UnmarshalStrict(p.Body, &operations); err != nil {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
		for i := range found {
			found[i] = fmt.Errorf("json patch %v", found[i])
		}
	}
	operations, err := jsonpatch.DecodePatch(p.Body)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	if len(operations) > maxOperations {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"The allowed maximum operations in a JSON patch is %d, got %d", maxOperations, len(operations)))
	}
	if err := checkDescent(levels(operations), len(document)+len(p.Body)); err != nil {
		return nil, nil, err
	}
	patched, err = p.applyInBatches(ctx, operations, document)
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case err != nil:
		return nil, nil, Unprocessable(err)
	}
	return patched, found, nil
}

// applyInBatches applies operations and looks at the context between batches of them. Each operation may copy a list:
// 10,000 of them on a list of a million items take minutes.
// See docs/upstream.md, "Limits are process-wide variables".
func (p Patch) applyInBatches(
	ctx context.Context, operations jsonpatch.Patch, document []byte,
) (patched []byte, err error) {
	limit := maxGrowth*(len(document)+len(p.Body)) + MaxCopies
	for patched = document; ; {
		batch := min(len(operations), max(1, bytesBetweenChecks/(len(p.Body)+work(patched))))
		if jsonpatch.AccumulatedCopySizeLimit <= 0 {
			batch = untilGrown(operations[:batch], len(patched)+len(p.Body), limit)
		}
		if patched, err = operations[:batch].Apply(patched); err != nil {
			return nil, err
		}
		if operations = operations[batch:]; len(operations) == 0 || ctx.Err() != nil {
			return patched, nil
		}
		if len(patched) > limit { // the library bounds the copies of one batch, or untilGrown does
			return nil, jsonpatch.NewAccumulatedCopySizeError(MaxCopies, int64(len(patched)))
		}
	}
}

// untilGrown returns how many operations can be applied to a document of a size before it may exceed the limit; at
// least one. Each copy may double the document.
func untilGrown(operations jsonpatch.Patch, size, limit int) int {
	for i, operation := range operations {
		if operation.Kind() != "copy" {
			continue
		}
		if size *= 2; size > limit && i > 0 {
			return i
		}
	}
	return len(operations)
}

// work returns how many bytes of a document an operation may process: all of them, and the pointers of the library to
// the items of the largest list, which an insertion copies. Allocating them takes as long as processing four times as
// many bytes.
func work(document []byte) int {
	const pointer = 4 * 8
	return len(document) + pointer*bytes.Count(document, []byte(","))
}

// depth returns how deep a merge patch is nested, or a lower number that is not too deep for a document of a size.
func depth(patch []byte, size int) int {
	brackets := bytes.Count(patch, []byte("{")) + bytes.Count(patch, []byte("["))
	if brackets*(size+len(patch)) <= maxDescent {
		return 0
	}
	return objectjson.ShapeOf(patch).Depth
}

// levels returns how many levels the longest path of operations goes down.
func levels(operations jsonpatch.Patch) (levels int) {
	for _, operation := range operations {
		path, _ := operation.Path() // Apply reports the errors
		from, _ := operation.From()
		levels = max(levels, strings.Count(path, "/"), strings.Count(from, "/"))
	}
	return levels
}

func checkDescent(levels, size int) error {
	if levels*size <= maxDescent {
		return nil
	}
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
		"the patch goes down %d levels in %d bytes; the product may be %d", levels, size, maxDescent))
}

// Unversioned reports whether a document of a kind has no apiVersion, because a patch has removed it. It returns an
// error for each field. kube-apiserver decodes such a document into its internal type. That has no names for JSON, so
// the object is empty and all fields are unknown.
func Unversioned(document []byte, kind string) (unknown []error, ok bool) {
	declared, err := jsonserializer.DefaultMetaFactory.Interpret(document)
	if err != nil || declared.Group != "" || declared.Version != "" || declared.Kind != "" && declared.Kind != kind {
		return nil, false
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(document, &members); err != nil {
		return nil, false
	}
	delete(members, "apiVersion")
	delete(members, "kind")
	for _, name := range slices.Sorted(maps.Keys(members)) {
		unknown = append(unknown, fmt.Errorf("unknown field %q", name))
	}
	return unknown, true
}
