package managedfields

import (
	"context"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/crd-server/crd-server/internal/objectjson"
)

// fastManager handles usual writes as the library would, and calls the library for the rest.
// See docs/upstream.md, "Three walks for one update".
type fastManager struct {
	Config
	library Manager
	// reset are the members of objects whose changes do not count at this endpoint.
	reset map[string]bool
}

var _ Manager = &fastManager{}

// newFast returns a fast manager, or library for an endpoint whose rules the fast manager does not know.
func newFast(config Config, library Manager) Manager {
	reset := map[string]bool{}
	if set := config.ResetFields[fieldpath.APIVersion(config.Kind.GroupVersion().String())]; set != nil {
		for element := range set.Members.All() {
			if element.FieldName == nil {
				return library
			}
			reset[*element.FieldName] = true
		}
		if !set.Children.Empty() {
			return library
		}
	}
	if config.Hub != config.Kind.GroupVersion() {
		return library
	}
	return &fastManager{Config: config, library: library, reset: reset}
}

func (m *fastManager) Update(ctx context.Context, live, obj runtime.Object, manager string) (runtime.Object, error) {
	before, ok := live.(*unstructured.Unstructured)
	after, ok2 := obj.(*unstructured.Unstructured)
	if ok && ok2 && ctx.Err() == nil && m.update(ctx, before, after, manager) {
		return obj, nil
	}
	return m.library.Update(ctx, live, obj, manager) // which returns ctx.Err() if that ended the walk
}

func (m *fastManager) Apply(
	ctx context.Context, live, applied runtime.Object, manager string, force bool,
) (runtime.Object, error) {
	before, ok := live.(*unstructured.Unstructured)
	config, ok2 := applied.(*unstructured.Unstructured)
	if ok && ok2 && ctx.Err() == nil {
		if obj := m.apply(ctx, before, config, manager, force); obj != nil {
			return obj, nil
		}
	}
	return m.library.Apply(ctx, live, applied, manager, force)
}

// update sets the managed fields of obj. It returns false, and has modified nothing, if the library must do it.
func (m *fastManager) update(ctx context.Context, live, obj *unstructured.Unstructured, manager string) bool {
	if _, ok := obj.Object["metadata"].(map[string]any); !ok || !m.hasKind(live) || !m.hasKind(obj) ||
		!utf8.ValidString(manager) {
		return false
	}
	owners, ok := m.ownersBeforeUpdate(live, obj)
	if !ok {
		return false
	}
	kind, err := m.typedKind()
	if err != nil {
		return false
	}
	c := newComparison(ctx, kind, m.reset)
	by := m.owner(manager, metav1.ManagedFieldsOperationUpdate)
	if !c.compareObjects(live.Object, obj.Object) || !readFields(owners, kind, by.apiVersion) {
		return false
	}
	if owners, ok = ownersAfterUpdate(owners, by, c); !ok {
		return false
	}
	return !tooManyUpdates(owners) && writeOwners(obj, owners) == nil
}

// apply returns a copy of live with a configuration merged into it. It returns nil if the library must do it.
func (m *fastManager) apply(
	ctx context.Context, live, config *unstructured.Unstructured, manager string, force bool,
) runtime.Object {
	if !m.hasKind(live) || !m.hasKind(config) || hasManagedFields(config) || !utf8.ValidString(manager) {
		return nil
	}
	obj := live.DeepCopy()
	creates := len(live.Object) == 2 // apiVersion and kind
	owners, ok := readOwners(managedFieldsOf(obj.Object))
	if !ok && !creates {
		return nil
	}
	kind, err := m.typedKind()
	if err != nil {
		return nil
	}
	if !creates && !newComparison(ctx, kind, m.reset).compareObjects(live.Object, live.Object) { // it must have its type
		return nil
	}
	by := m.owner(manager, metav1.ManagedFieldsOperationApply)
	result := &merge{comparison: newComparison(ctx, kind, m.reset), creates: creates}
	if !readFields(owners, kind, by.apiVersion) || !result.mergeObject(obj.Object, config.Object) {
		return nil
	}
	if manager == "kubectl" && obj.GetAnnotations()[corev1.LastAppliedConfigAnnotation] != "" {
		return nil // the library changes the annotation, too
	}
	if owners, ok = ownersAfterApply(owners, by, result, force); !ok {
		return nil
	}
	if result.changes > 0 {
		m.Defaulter.Default(obj)
	}
	if writeOwners(obj, owners) != nil {
		return nil
	}
	return obj
}

func (m *fastManager) hasKind(obj *unstructured.Unstructured) bool {
	apiVersion, kind := m.Kind.ToAPIVersionAndKind()
	return obj.Object["apiVersion"] == apiVersion && obj.Object["kind"] == kind
}

// owner returns the owner that a manager becomes by an operation at this time.
func (m *fastManager) owner(manager string, operation metav1.ManagedFieldsOperationType) owner {
	if manager == "" {
		manager = "unknown"
	}
	return owner{
		manager: manager, operation: string(operation), apiVersion: m.Kind.GroupVersion().String(),
		subresource: m.Subresource, time: time.Now().UTC().Format(time.RFC3339), fields: &fieldpath.Set{},
	}
}

// ownersBeforeUpdate returns the owners in obj, as clients may change them, unless the endpoint is a subresource;
// otherwise those in live. Their entries are not shared with live.
func (m *fastManager) ownersBeforeUpdate(live, obj *unstructured.Unstructured) ([]owner, bool) {
	old, sent := managedFieldsOf(live.Object), managedFieldsOf(obj.Object)
	switch {
	case old == nil && sent == nil:
		// The library does not add managed fields to a stored object without any.
		return nil, live.GetUID() == "" && !hasManagedFields(live) && !hasManagedFields(obj)
	case sent == nil && hasManagedFields(obj):
		return nil, false
	case old != nil:
		if _, ok := readOwners(old); !ok {
			return nil, false
		}
	}
	if sent == nil || m.Subresource != "" && !objectjson.Equal(old, sent) {
		sent = runtime.DeepCopyJSONValue(old)
	}
	return readOwners(sent)
}

// managedFieldsOf returns the managed fields of an object, nil if there are none.
func managedFieldsOf(obj map[string]any) any {
	metadata, _ := obj["metadata"].(map[string]any)
	return metadata["managedFields"]
}

// hasManagedFields reports whether an object has managed fields, which may be null.
func hasManagedFields(obj *unstructured.Unstructured) bool {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	_, ok := metadata["managedFields"]
	return ok
}

// maxUpdates is the number of entries for updates beyond which the library joins the oldest.
const maxUpdates = 10

func tooManyUpdates(owners []owner) bool {
	updates := 0
	for i := range owners {
		if !owners[i].applies() {
			updates++
		}
	}
	return updates > maxUpdates
}
