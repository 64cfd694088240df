package definitions

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// MarkForDeletion changes a CRD on its first DELETE. The CRD gets the finalizer that it keeps until its instances are
// deleted, and the condition Terminating (C4). MarkForDeletion returns false for a CRD that is marked already.
func MarkForDeletion(obj runtime.Object) bool {
	crd := obj.(*apiextensions.CustomResourceDefinition)
	if !crd.DeletionTimestamp.IsZero() {
		return false
	}
	now := metav1.Now()
	crd.DeletionTimestamp = &now
	if !apiextensions.CRDHasFinalizer(crd, apiextensions.CustomResourceCleanupFinalizer) {
		crd.Finalizers = append(crd.Finalizers, apiextensions.CustomResourceCleanupFinalizer)
	}
	apiextensions.SetCRDCondition(crd, apiextensions.CustomResourceDefinitionCondition{
		Type:    apiextensions.Terminating,
		Status:  apiextensions.ConditionTrue,
		Reason:  "InstanceDeletionPending",
		Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
	})
	return true
}
