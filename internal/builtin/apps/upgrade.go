package apps

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// upgradeDeployment completes a Deployment of an older version. v1 has an annotation instead of a field for the
// revision to return to.
func upgradeDeployment(old, obj runtime.Object) error {
	deployment := obj.(*appsv1.Deployment)
	set := func(revision int64) {
		value := strconv.FormatInt(revision, 10)
		metav1.SetMetaDataAnnotation(&deployment.ObjectMeta, appsv1.DeprecatedRollbackTo, value)
	}
	switch old := old.(type) {
	case *appsv1beta1.Deployment:
		if old.Spec.RollbackTo != nil {
			set(old.Spec.RollbackTo.Revision)
		}
	case *extensionsv1beta1.Deployment:
		if old.Spec.RollbackTo != nil {
			set(old.Spec.RollbackTo.Revision)
		}
	}
	return nil
}

// upgradeDaemonSet completes a DaemonSet of an older version.
func upgradeDaemonSet(old, obj runtime.Object) error {
	if old, ok := old.(*extensionsv1beta1.DaemonSet); ok {
		setTemplateGeneration(obj.(*appsv1.DaemonSet), old.Spec.TemplateGeneration)
	}
	return nil
}
