package objectmeta

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/warning"
)

// The warnings of duplicate owner references, in an object that was sent, and after admission.
const (
	DuplicateOwners = ".metadata.ownerReferences contains duplicate entries; API server dedups owner " +
		"references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) " +
		"observed: %v"
	DuplicateOwnersAfterAdmission = ".metadata.ownerReferences contains duplicate entries after mutating admission " +
		"happens; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix " +
		"your requests; duplicate UID(s) observed: %v"
)

// DedupOwners removes duplicate owner references (W14), and warns in the given format.
func DedupOwners(ctx context.Context, obj runtime.Object, format string) {
	m := Accessor(obj)
	refs := m.GetOwnerReferences()
	if len(refs) < 2 {
		return
	}
	kept, duplicates := uniqueOwners(refs)
	if len(duplicates) == 0 {
		return
	}
	warning.AddWarning(ctx, "", fmt.Sprintf(format, strings.Join(duplicates, ", ")))
	m.SetOwnerReferences(kept)
}

// ownerKey is an owner reference that can be compared.
type ownerKey struct {
	apiVersion, kind, name         string
	uid                            types.UID
	controller, blockOwnerDeletion string
}

func keyOf(ref metav1.OwnerReference) ownerKey {
	text := func(b *bool) string {
		if b == nil {
			return ""
		}
		return strconv.FormatBool(*b)
	}
	return ownerKey{ref.APIVersion, ref.Kind, ref.Name, ref.UID, text(ref.Controller), text(ref.BlockOwnerDeletion)}
}

// uniqueOwners returns the references without duplicates, and the UIDs of the duplicates.
func uniqueOwners(refs []metav1.OwnerReference) (kept []metav1.OwnerReference, duplicates []string) {
	seen := make(map[ownerKey]bool, len(refs))
	for _, ref := range refs {
		if key := keyOf(ref); !seen[key] {
			seen[key] = true
			kept = append(kept, ref)
		} else {
			duplicates = append(duplicates, string(ref.UID))
		}
	}
	return kept, duplicates
}
